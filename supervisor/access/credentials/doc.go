// Package credentials finds out who sends a request: the owner of a token, or the user at the other end of the unix
// socket, whom the kernel names. It makes, shortens and checks tokens, and caches what requests need, so that none of
// them costs the database a read, whatever id it names.
//
// A token's row is protected by MACs under the farm's key, which is not in the database: a row that was inserted or
// changed by other means than qb makes no credential. What a principal may do is decided by its caller.
//
// It must never store or log the text of a token.
package credentials
