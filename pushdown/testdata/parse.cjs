// Parses the SQL on standard input in the dialect that the first argument names, and
// writes the texts and the quoted names in it, in JSON. It needs the npm package
// @polyglot-sql/sdk.
const { init, parse, tokenize } = require('@polyglot-sql/sdk');
const { readFileSync } = require('node:fs');

init().then(() => {
  const sql = readFileSync(0, 'utf8');
  const tree = parse(sql, process.argv[2]);
  const read = tokenize(sql, process.argv[2]);
  if (!tree.success || !read.success || tree.ast.length !== 1) {
    console.error(tree.error || read.error || 'more than one statement');
    process.exit(1);
  }
  const texts = (type) => read.tokens.filter((t) => t.token_type === type).map((t) => t.text);
  console.log(JSON.stringify({ texts: texts('STRING'), names: texts('QUOTED_IDENTIFIER') }));
});
