package main

import (
	"fmt"
	"strconv"
	"strings"
)

// An input is the text of a kernel's input: numbers or a name, separated by commas.
type input struct {
	kernel string
	parts  []string
	// err is the first mistake.
	err error
}

func newInput(kernel, text string) *input {
	return &input{kernel: kernel, parts: strings.Split(text, ",")}
}

// name returns the next part, which must exist.
func (in *input) name() string {
	if len(in.parts) == 0 {
		in.fail("the input is too short")
		return ""
	}
	part := in.parts[0]
	in.parts = in.parts[1:]
	return part
}

// number returns the next part, which must be a number in this range. After a mistake it returns
// the smallest number.
func (in *input) number(what string, lowest, highest int) int {
	part := in.name()
	number, err := strconv.Atoi(part)
	if err != nil || number < lowest || number > highest {
		in.fail("%s must be a number from %d to %d, not '%s'", what, lowest, highest, part)
		return lowest
	}
	return number
}

// numberOr returns the next part as a number, or the default value if the input ends here.
func (in *input) numberOr(what string, lowest, highest, defaultValue int) int {
	if len(in.parts) == 0 {
		return defaultValue
	}
	return in.number(what, lowest, highest)
}

// end returns the first mistake. A part that is left is one.
func (in *input) end() error {
	if len(in.parts) > 0 {
		in.fail("the input is too long; remove '%s'", strings.Join(in.parts, ","))
	}
	return in.err
}

func (in *input) fail(format string, values ...any) {
	if in.err == nil {
		in.err = fmt.Errorf(in.kernel+": "+format, values...)
	}
}
