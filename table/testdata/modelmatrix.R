# What R makes of the factors in modelmatrix.csv: prints modelmatrix.txt.
#   Rscript modelmatrix.R > modelmatrix.txt
d <- read.csv("modelmatrix.csv", check.names = FALSE, colClasses = "character")
d$age <- as.numeric(d$age)
d$colour <- factor(d$colour, levels = c("red", "green", "dark blue"))
d$size <- factor(d$size, levels = c("S", "M", "L", "10"))
cat("# SOURCE: modelmatrix.R,", R.version.string, "\n")
for (f in c("~ colour", "~ age + colour", "~ colour + size", "~ size + age + colour",
            "~ colour - 1", "~ age + colour - 1", "~ colour + size - 1", "~ size + age + colour - 1", "~ age - 1")) {
  x <- model.matrix(as.formula(f), d)
  cat("y ", f, "\n", sep = "")
  cat(colnames(x), sep = ",")
  cat("\n")
  write.table(x, sep = ",", row.names = FALSE, col.names = FALSE, quote = FALSE)
}
