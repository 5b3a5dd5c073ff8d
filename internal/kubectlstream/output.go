package kubectlstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

const (
	// wideFormat is a table with more columns.
	wideFormat = "wide"
	// nameFormat is one "kind/name" a line.
	nameFormat = "name"
)

// output is how a command prints objects: a text for people by default, or what -o asks for.
type output struct {
	flags     *genericclioptions.PrintFlags
	noHeaders bool
}

// newOutput binds -o to a command that prints a text of its own by default. What was done to an object, such as "created", is
// said where it prints none.
func newOutput(command *cobra.Command, operation string) (*output, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	o := &output{flags: genericclioptions.NewPrintFlags(operation).WithTypeSetter(scheme)}
	o.flags.AddFlags(command)
	return o, nil
}

// tables binds the flags of a command that prints a table by default.
func (o *output) tables(command *cobra.Command) {
	command.Flags().Lookup("output").Usage += " Or wide, for a table with more columns."
	command.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Print the table without its headers.")
}

// forPeople tells that no format for programs was asked for.
func (o *output) forPeople() bool {
	return *o.flags.OutputFormat == "" && *o.flags.TemplatePrinterFlags.TemplateArgument == ""
}

// object prints an object in the format that was asked for.
func (o *output) object(object runtime.Object, out io.Writer) error {
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return fmt.Errorf("printing as %q: %w", *o.flags.OutputFormat, err)
	}
	if err := write(printer, object, out); err != nil {
		return fmt.Errorf("printing as %q: %w", *o.flags.OutputFormat, err)
	}
	return nil
}

// write prints, and tells where that fails: some printers keep to themselves that a write failed.
func write(printer printers.ResourcePrinter, object runtime.Object, out io.Writer) error {
	var text bytes.Buffer
	if err := printer.PrintObj(object, &text); err != nil {
		return err
	}
	_, err := out.Write(text.Bytes())
	return err
}

// list prints a list of objects: the table that people read, or the objects in the format that was asked for.
func (o *output) list(list runtime.Object, table *metav1.Table, out io.Writer) error {
	wide := *o.flags.OutputFormat == wideFormat
	if wide || o.forPeople() {
		printer := printers.NewTablePrinter(printers.PrintOptions{Wide: wide, NoHeaders: o.noHeaders})
		if err := write(printer, table, out); err != nil {
			return fmt.Errorf("printing the table: %w", err)
		}
		return nil
	}
	if *o.flags.OutputFormat == nameFormat { // whose printer takes no lists
		return meta.EachListItem(list, func(item runtime.Object) error { return o.object(item, out) })
	}
	err := o.object(list, out)
	if incompatible, ok := errors.AsType[genericclioptions.NoCompatiblePrinterError](err); ok {
		incompatible.AllowedFormats = append(incompatible.AllowedFormats, wideFormat)
		return incompatible
	}
	return err
}

// done prints an object that something was done to, or in one line what was done to it.
func (o *output) done(object runtime.Object, remark string, out io.Writer) error {
	if remark != "" && o.forPeople() {
		if err := o.flags.Complete("%s " + remark); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return o.object(object, out)
}
