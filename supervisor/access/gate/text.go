package gate

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"qb/api"
	"qb/supervisor/lead/problem"
)

// AddressInUTF8 refuses addresses with text that neither a row nor an answer could hold.
func AddressInUTF8(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.QueryUnescape(r.URL.RawQuery)
		if !utf8.ValidString(r.URL.Path) || err == nil && !utf8.ValidString(query) {
			problem.Write(w, problem.New(api.KindInvalid, api.KindInvalid.Status(),
				"the address has text that is not UTF-8; send it in UTF-8"))
			return
		}
		if strings.ContainsRune(r.URL.Path+query, 0) {
			problem.Write(w, problem.New(api.KindInvalid, api.KindInvalid.Status(),
				"the address has text with the character NUL; leave it out"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// JSONInUTF8 refuses bodies with text that their reader would change, before it does.
func JSONInUTF8(read func(data []byte, v any) error) func(data []byte, v any) error {
	return func(data []byte, v any) error {
		if err := api.CheckJSON(data); err != nil {
			return err
		}
		return read(data, v)
	}
}
