package report

import "image/color"

// The colours of pictures. Those of series are Okabe and Ito's (2008), told apart
// with any common colour blindness and by their lightness in grey; series differ in
// their marks or dashes besides, or stand apart. All are opaque: a page finds them
// in the picture again, and gives each its counterpart on a dark ground.
var (
	black      = color.RGBA{A: 255}
	white      = color.RGBA{255, 255, 255, 255}
	grey       = color.RGBA{110, 110, 110, 255}
	middleGrey = color.RGBA{170, 170, 170, 255}
	lightGrey  = color.RGBA{225, 225, 225, 255}
	blue       = color.RGBA{0, 114, 178, 255}
	lightBlue  = color.RGBA{153, 199, 224, 255}
	vermilion  = color.RGBA{213, 94, 0, 255}
	green      = color.RGBA{0, 158, 115, 255}
	purple     = color.RGBA{204, 121, 167, 255}
	orange     = color.RGBA{230, 159, 0, 255}
	sky        = color.RGBA{86, 180, 233, 255}
)

// pageColours names each colour as the style sheet of a page does.
var pageColours = map[color.RGBA]string{
	black: "ink", white: "paper", grey: "grey", middleGrey: "middle-grey", lightGrey: "light-grey",
	blue: "blue", lightBlue: "light-blue", vermilion: "vermilion", green: "green", purple: "purple", orange: "orange", sky: "sky",
}
