package report

import (
	"fmt"
	"strings"

	"github.com/dpreg/dpreg/posterior"
)

// From which posterior contraction on a release says much, and below which next to nothing.
const (
	muchContracted   = 0.9
	hardlyContracted = 0.1
)

// contraction says in words on which side of 0 the slopes are, and which parameters'
// priors the release narrows, and how much.
func contraction(s *posterior.Summary) []string {
	var above, below, about, much, some, hardly []string
	for _, p := range s.Parameters {
		if !isMain(p.Name) {
			continue
		}
		if p.Name != "theta[0]" && p.Name != "sigma" {
			switch {
			case p.Lower > 0:
				above = append(above, p.Label)
			case p.Upper < 0:
				below = append(below, p.Label)
			default:
				about = append(about, p.Label)
			}
		}
		switch c := p.Contraction; {
		case c == nil:
		case *c >= muchContracted:
			much = append(much, p.Label)
		case *c >= hardlyContracted:
			some = append(some, p.Label)
		default:
			hardly = append(hardly, p.Label)
		}
	}
	signs := sentence("The slope's "+exactly(percent(s.Level))+" % interval lies",
		part{"above 0 for", above}, part{"below 0 for", below}, part{"about 0 for", about})
	amounts := sentence("The release narrows the prior",
		part{fmt.Sprintf("much (contraction at least %v) for", muchContracted), much}, part{"somewhat for", some},
		part{fmt.Sprintf("hardly or not at all (contraction below %v) for", hardlyContracted), hardly})
	return append(signs, amounts...)
}

// part of a sentence is left out where it has no names.
type part struct {
	words string
	names []string
}

func sentence(start string, parts ...part) []string {
	var said []string
	for _, p := range parts {
		if p.names != nil {
			said = append(said, p.words+" "+strings.Join(p.names, ", "))
		}
	}
	if said == nil {
		return nil
	}
	return []string{start + " " + strings.Join(said, "; ") + "."}
}
