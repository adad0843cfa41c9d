package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"sort"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Schema contains the wire types. order lists their names alphabetically.
type Schema struct {
	types map[string]*structure
	order []string
}

// structure is one struct of internal/rpc/wire or of the settings in internal/config.
type structure struct {
	doc    string
	fields []field
}

type field struct {
	name, doc string
	typ       ast.Expr
	optional  bool
	enum      []string
}

// Load parses the wire types and the settings from the source code embedded in the binary.
func Load() (*Schema, error) {
	entries, err := wire.Source.ReadDir(".")
	if err != nil {
		return nil, err
	}
	s := &Schema{types: map[string]*structure{}}
	if err := s.parse("types.go", config.Source); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		src, err := wire.Source.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		if err := s.parse(e.Name(), src); err != nil {
			return nil, err
		}
	}
	sort.Strings(s.order)
	return s, s.check()
}

// parse adds the types of one file, whose source is a string or bytes.
func (s *Schema) parse(name string, src any) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parsing the source of the wire's types: %w", err)
	}
	s.addFile(file)
	return nil
}

func (s *Schema) addFile(file *ast.File) {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			ts := spec.(*ast.TypeSpec)
			if st, ok := ts.Type.(*ast.StructType); ok && ts.Name.IsExported() {
				s.types[ts.Name.Name] = &structure{oneLine(gen.Doc.Text()), fieldsOf(st)}
				s.order = append(s.order, ts.Name.Name)
			}
		}
	}
}

func fieldsOf(st *ast.StructType) []field {
	var out []field
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 { // an embedded struct; allFields inserts its fields
			out = append(out, field{typ: f.Type})
			continue
		}
		tag := reflect.StructTag("")
		if f.Tag != nil {
			tag = reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		}
		name, opts, _ := strings.Cut(tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		doc := tag.Get("doc")
		if doc == "" {
			doc = strings.TrimSpace(f.Doc.Text() + " " + f.Comment.Text())
		}
		fd := field{name: name, doc: oneLine(doc), typ: f.Type,
			optional: strings.Contains(opts, "omit")}
		if e := tag.Get("enum"); e != "" {
			fd.enum = strings.Split(e, ",")
		}
		out = append(out, fd)
	}
	return out
}

// allFields returns a structure's fields, with the fields of embedded structures inserted.
func (s *Schema) allFields(st *structure) []field {
	var out []field
	for _, f := range st.fields {
		if id, ok := f.typ.(*ast.Ident); ok && f.name == "" {
			out = append(out, s.allFields(s.types[id.Name])...)
		} else {
			out = append(out, f)
		}
	}
	return out
}

// check verifies that the tables list exactly the methods of internal/rpc/wire, in the same order,
// and that the types they name exist.
func (s *Schema) check() error {
	for _, table := range []struct {
		rows []method
		want []string
	}{{requests, wire.Requests}, {notifications, wire.Notifications},
		{serverRequests, wire.ServerRequests}} {
		if len(table.rows) != len(table.want) {
			return fmt.Errorf("the schema has %d methods, but the wire has %d", len(table.rows),
				len(table.want))
		}
		for i, m := range table.rows {
			if m.name != table.want[i] {
				return fmt.Errorf("the schema has %s where the wire has %s", m.name, table.want[i])
			}
			for _, t := range []string{m.params, m.result} {
				if t != "" && t != anyResult && s.types[t] == nil {
					return fmt.Errorf("%s: the wire has no type %s", m.name, t)
				}
			}
		}
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
