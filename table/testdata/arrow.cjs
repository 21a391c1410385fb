// Writes the files of the folders arrow and arrowkinds beside it, by Arrow's library in JavaScript
// and by Polars, in arrow the rows of parquet.cjs; and pums.csv as ../../cmd/dpreg/testdata/pums.feather.
// It needs the npm packages apache-arrow (21.2.0) and nodejs-polars (0.26.1).
const arrow = require('apache-arrow');
const pl = require('nodejs-polars').default;
const { readFileSync, writeFileSync } = require('node:fs');

const { Bool, DateDay, Dictionary, Field, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeUtf8, List, Uint8, Uint16, Uint32, Uint64, Utf8 } = arrow;

const i = [...Array(60).keys()];
const x = i.map((i) => (i % 7 ? i % 13 : null));
const y = i.map((i) => (i % 11 ? ((i * 37) % 400) / 100 - 1 : null));
const f = i.map((i) => (i % 9 ? 'abc'[i % 3] : null));
const b = i.map((i) => i % 2 === 0);
const tags = i.map((i) => [i, i + 1]);

// table has columns of values and a type.
function table(columns) {
  const vectors = {};
  for (const name in columns) vectors[name] = arrow.vectorFromArray(...columns[name]);
  return new arrow.Table(vectors);
}

// write writes tables of the same columns, a batch each.
function write(path, ...tables) {
  const all = tables.length > 1 ? tables[0].concat(...tables.slice(1)) : tables[0];
  writeFileSync(path, arrow.tableToIPC(all, path.endsWith('.arrows') ? 'stream' : 'file'));
}

function javascript() {
  const list = new List(new Field('item', new Float64(), true));
  const levels = (id) => new Dictionary(new Utf8(), new Int16(), id);
  const part = (from, to, type) => table({
    tags: [tags.slice(from, to), list],
    x: [x.slice(from, to), new Int8()],
    y: [y.slice(from, to), new Float64()],
    f: [f.slice(from, to), type],
    b: [b.slice(from, to), new Bool()],
  });
  for (const [end, type] of [['arrow', new Utf8()], ['arrows', levels(1)]]) {
    write(`arrow/javascript.${end}`, part(0, 60, levels(2)));
    write(`arrow/batches.${end}`, part(0, 7, type), part(7, 8, type), part(8, 60, type)); // a stream's dictionary changes
  }
}

function polars() {
  const frame = pl.DataFrame({ tags, x, y, f, b }).withColumns(pl.col('x').cast(pl.Float32));
  for (const compression of ['uncompressed', 'lz4', 'zstd'])
    writeFileSync(`arrow/polars_${compression}.feather`, frame.withColumns(pl.col('f').cast(pl.Categorical)).writeIPC({ compression }));
  writeFileSync('arrow/polars_views.arrow', frame.writeIPC({ compression: 'lz4' }));
  writeFileSync('arrow/polars.arrows', frame.writeIPCStream({ compression: 'uncompressed' }));

  const lines = readFileSync('../../testdata/pums.csv', 'utf8').trim().split('\n').map((line) => line.split(','));
  const columns = {};
  lines[0].forEach((name, j) => (columns[name] = lines.slice(1).map((cells) => Number(cells[j]))));
  writeFileSync('../../cmd/dpreg/testdata/pums.feather', pl.DataFrame(columns).writeIPC({ compression: 'zstd' }));
}

// Two rows of every type that counts, x 5 and 0, f and b 1 and 0, y -1 and 2.
function kinds() {
  const numbers = { int8: new Int8(), int16: new Int16(), int32: new Int32(), int64: new Int64(), uint8: new Uint8(), uint16: new Uint16(), uint32: new Uint32(), uint64: new Uint64() };
  for (const name in numbers) {
    const type = numbers[name], big = name.endsWith('64') ? (v) => v.map(BigInt) : (v) => v;
    const signed = name.startsWith('u') ? new Float32() : type;
    write(`arrowkinds/good_${name}.arrow`, table({
      x: [big([5, 0]), type], f: [big([1, 0]), type], b: [big([1, 0]), new Dictionary(type, new Uint32())], y: [signed === type ? big([-1, 2]) : [-1, 2], signed],
    }));
  }
  write('arrowkinds/good_texts.arrow', table({
    x: [['5', ' 0.0'], new LargeUtf8()], f: [['1', ' 0'], new Utf8()], b: [['TRUE', '0'], new Dictionary(new LargeUtf8(), new Int8())], y: [['-1', '2.00'], new Utf8()],
  }));
  write('arrowkinds/good_half.arrow', table({ x: [[5, 0], new Float16()], f: [['1', '0'], new Utf8()], b: [[true, false], new Bool()], y: [[-1, 2].map(half), new Float16()] }));
  const frame = pl.DataFrame({ x: [5, 0], f: ['1', '0'], b: [true, false], y: [-1, 2], long: ['longer than twelve bytes', ''] });
  writeFileSync('arrowkinds/good_decimal.feather', frame.withColumns(pl.col('y').cast(pl.Decimal(20, 3)), pl.col('x').cast(pl.UInt16)).writeIPC({ compression: 'zstd' }));
}

// half is what this library writes as a number of 16 bits: numbers themselves.
function half(v) { return v; }

// Cells and types that are refused.
function bad() {
  const good = { x: [[4711, 1], new Float64()], f: [['a', 'a'], new Utf8()], b: [[true, true], new Bool()], y: [[1, 1], new Float64()] };
  const second = (name, cells, type) => write(`arrowkinds/bad_${name}.arrow`, table(good), table({ ...good, [name[0]]: [cells, type || good[name[0]][1]] }));
  second('f', ['a', '4711']);
  second('b', [null, true]);
  second('x', [4711, NaN]);
  second('y', [1, -Infinity]);
  const retyped = (name, cells, type) => write(`arrowkinds/type_${name}.arrow`, table({ ...good, [name[0]]: [cells, type] }));
  retyped('x', [true, true], new Bool());
  retyped('f', [1, 1], new Float64());
  retyped('y', [new Date(0), new Date(0)], new DateDay());
  retyped('x_list', [[1], [2]], new List(new Field('item', new Float64(), true)));
}

javascript();
polars();
kinds();
bad();
