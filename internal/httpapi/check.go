package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/internal/httpapi/access"
)

// Check returns the rules that a decoded body breaks. The rules are in the body's struct tags, from which the OpenAPI
// document is also generated. Check supports enum, minLength, maxLength, minimum, maximum, minItems, maxItems,
// uniqueItems, and the patterns label and line; other patterns are checked only by the handler. Check skips missing
// fields: nil pointers, and empty strings and nil slices whose struct tag has omitempty.
func Check(body any) []Detail {
	c := checker{}
	v := reflect.Indirect(reflect.ValueOf(body))
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := v.FieldByIndex(f.Index)
		absent := false
		switch value.Kind() { //nolint:exhaustive // no other kind has a value that means absent
		case reflect.Pointer:
			absent = value.IsNil()
			value = value.Elem()
		case reflect.String, reflect.Slice:
			absent = options == "omitempty" && value.IsZero()
		}
		if f.Anonymous || absent {
			continue
		}
		c.checkField(name, value, f.Tag)
	}
	return c.broken
}

type checker struct{ broken []Detail }

func (c *checker) unless(ok bool, path, rule string) {
	if !ok {
		c.broken = append(c.broken, Detail{Path: path, Rule: rule})
	}
}

// checkField checks a field and, in a list, each element.
func (c *checker) checkField(path string, v reflect.Value, tag reflect.StructTag) {
	if v.Kind() != reflect.Slice {
		c.checkValue(path, v, tag)
		return
	}
	least, most := tag.Get("minItems"), tag.Get("maxItems")
	c.unless(between(float64(v.Len()), least, most), path, bounds("Items", least, most))
	seen := map[any]bool{}
	for i := range v.Len() {
		item := path + "[" + strconv.Itoa(i) + "]"
		c.checkValue(item, v.Index(i), tag)
		if tag.Get("uniqueItems") != "" {
			c.unless(!seen[v.Index(i).Interface()], item, "unique")
			seen[v.Index(i).Interface()] = true
		}
	}
}

// checkValue checks one string or number.
func (c *checker) checkValue(path string, v reflect.Value, tag reflect.StructTag) {
	if words := tag.Get("enum"); words != "" {
		c.unless(slices.Contains(strings.Split(words, ","), fmt.Sprint(v)), path, "enum:"+strings.ReplaceAll(words, ",", "|"))
		return
	}
	least, most := tag.Get("minimum"), tag.Get("maximum")
	switch {
	case v.CanInt():
		c.unless(between(float64(v.Int()), least, most), path, bounds("Number", least, most))
	case v.CanFloat():
		c.unless(between(v.Float(), least, most), path, bounds("Number", least, most))
	case v.Kind() == reflect.String:
		c.checkText(path, v.String(), tag)
	}
}

// checkText checks a string that has no pattern, or the pattern label or line. Surrounding white space is not counted.
func (c *checker) checkText(path, text string, tag reflect.StructTag) {
	least, most := tag.Get("minLength"), tag.Get("maxLength")
	rule := ""
	switch tag.Get("pattern") {
	case "":
		rule = LengthRule(strings.TrimSpace(text), least, most)
	case "line":
		rule = LineRule(text, least, most)
	case "label":
		rule = LineRule(text, "1", most)
	}
	c.unless(rule == "", path, rule)
}

// LengthRule returns the rule that a string breaks, minLength or maxLength, or "" if it satisfies both. The parameters
// least and most are the limits in characters; an empty limit does not apply. If least is not empty, a blank string
// breaks minLength, whatever its length.
func LengthRule(text, least, most string) string {
	length := float64(utf8.RuneCountInString(text))
	switch {
	case least != "" && (!between(length, least, "") || Blank(text)):
		return "minLength:" + least
	case !between(length, "", most):
		return "maxLength:" + most
	default:
		return ""
	}
}

// LineRule is like [LengthRule] for a string that must be a single line, and also returns the rule line. Surrounding
// white space is not counted in the length, but must not contain control characters either.
func LineRule(text, least, most string) string {
	rule := LengthRule(strings.TrimSpace(text), least, most)
	if !strings.HasPrefix(rule, "minLength") && access.HasControls(text) {
		return "line"
	}
	return rule
}

// between reports whether a number is within two inclusive limits. An empty limit does not apply.
func between(n float64, least, most string) bool {
	low, noLow := strconv.ParseFloat(least, 64)
	high, noHigh := strconv.ParseFloat(most, 64)
	return (noLow != nil || n >= low) && (noHigh != nil || n <= high)
}

// bounds returns the rule for two limits, such as range:1-12 for a number. If of is "Items", the limits apply to the
// length of a list.
func bounds(of, least, most string) string {
	switch {
	case of == "Items" && most == "":
		return "minItems:" + least
	case of == "Items" && least == "":
		return "maxItems:" + most
	case of == "Items":
		return "items:" + least + "-" + most
	case most == "":
		return "min:" + least
	case least == "":
		return "max:" + most
	default:
		return "range:" + least + "-" + most
	}
}

// Blank reports whether a string contains only white space and control characters.
func Blank(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsSpace(c) && !unicode.IsControl(c) })
}
