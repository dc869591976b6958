package api

import "net/http"

// The endpoints of pictures.
var (
	AppendPicture = Endpoint{"append-picture", http.MethodPost, "/v1/pictures", Worker,
		"A worker ships the picture of an attempt's output"}
	ItemPicture = Endpoint{"item-picture", http.MethodGet, "/v1/jobs/{job}/items/{item}/picture", User,
		"A small JPEG of an attempt's first output file"}
)

// MaxPicture is how many bytes a picture has at most.
const MaxPicture = 20_000

// Picture is a small picture of the first output file of an attempt that can be shown, or why there is none.
type Picture struct {
	_ struct{} `additionalProperties:"true"`

	Attempt AttemptID `json:"attempt"`
	Code    string    `json:"code,omitempty" doc:"Why there is none, see docs/codes.md; absent: data has it."`
	Data    []byte    `json:"data,omitempty" doc:"A JPEG of at most 20,000 bytes."`
}

// Codes of pictures that were not made.
const (
	PictureMissing   = "picture_missing"
	PictureDenied    = "picture_denied"
	PictureNoFile    = "picture_no_file"
	PictureTooLarge  = "picture_too_large"
	PictureUnknown   = "picture_unknown"
	PictureBroken    = "picture_broken"
	PictureConverter = "picture_converter_failed"
	PictureTime      = "picture_time"
	PictureMemory    = "picture_memory"
	PictureFailed    = "picture_failed"
	PictureNone      = "picture_none" // said by the supervisor alone
)

// PictureReasons are the sentences of the codes.
var PictureReasons = map[string]string{
	PictureMissing:   "the output file is not there",
	PictureDenied:    "the job's owner may not read the output file",
	PictureNoFile:    "what is named as the output file is no regular file",
	PictureTooLarge:  "the output file has too many bytes or pixels for a picture",
	PictureUnknown:   "the worker does not know the format of the output file, and has no worker_picture_command",
	PictureBroken:    "the output file cannot be decoded",
	PictureConverter: "the program of worker_picture_command failed on the output file, or printed no picture",
	PictureTime:      "making the picture took too long",
	PictureMemory:    "the host had no memory left for making a picture",
	PictureFailed:    "the worker could not make the picture",
	PictureNone:      "there is no picture of this attempt: its job names no output files (-validate), or it has not arrived",
}
