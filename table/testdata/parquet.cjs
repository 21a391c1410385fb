// Writes the files of the folder parquet beside it, by DuckDB and by Arrow's writer in Rust.
// It needs the npm packages @duckdb/node-api (1.5.6), apache-arrow and parquet-wasm.
const { DuckDBInstance } = require('@duckdb/node-api');
const arrow = require('apache-arrow');
const parquet = require('parquet-wasm/node');
const { writeFileSync } = require('node:fs');

async function duckdb() {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(`CREATE TABLE t AS SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE (i % 13)::DOUBLE END AS x,
    CASE WHEN i % 11 = 0 THEN NULL ELSE (i * 37 % 400) / 100.0 - 1 END::DOUBLE AS y,
    CASE WHEN i % 9 = 0 THEN NULL ELSE chr(97 + (i % 3)::INT) END AS f, i % 2 = 0 AS b,
    [i, i + 1] AS tags, 'person ' || i AS name FROM range(60) r(i)`);
  for (const codec of ['lz4_raw', 'zstd', 'gzip', 'brotli'])
    await connection.run(`COPY t TO 'parquet/duckdb_${codec}.parquet' (FORMAT parquet, CODEC '${codec}')`);
  await connection.run(`COPY t TO 'parquet/duckdb_v2.parquet' (FORMAT parquet, CODEC 'lz4_raw', PARQUET_VERSION v2)`);
}

function rust() {
  const i = [...Array(60).keys()];
  const list = new arrow.List(new arrow.Field('item', new arrow.Float64(), true));
  const table = new arrow.Table({
    x: arrow.vectorFromArray(i.map((i) => (i % 7 ? i % 13 : null)), new arrow.Float64()),
    y: arrow.vectorFromArray(i.map((i) => (i % 11 ? ((i * 37) % 400) / 100 - 1 : null)), new arrow.Float64()),
    f: arrow.vectorFromArray(i.map((i) => (i % 9 ? 'abc'[i % 3] : null)), new arrow.Utf8()),
    b: arrow.vectorFromArray(i.map((i) => i % 2 === 0), new arrow.Bool()),
    tags: arrow.vectorFromArray(i.map((i) => [i, i + 1]), list),
    name: arrow.vectorFromArray(i.map((i) => 'person ' + i), new arrow.Utf8()),
  });
  const write = (name, options) =>
    writeFileSync(`parquet/arrow_${name}.parquet`, parquet.writeParquet(parquet.Table.fromIPCStream(arrow.tableToIPC(table, 'stream')), options.build()));
  const options = () => new parquet.WriterPropertiesBuilder();
  write('lz4_raw', options().setCompression(parquet.Compression.LZ4_RAW));
  write('snappy', options().setCompression(parquet.Compression.SNAPPY));
  write('v2', options().setCompression(parquet.Compression.LZ4_RAW).setWriterVersion(parquet.WriterVersion.V2).setDictionaryEnabled(false));
}

duckdb().then(rust);
