using System.IO.Compression;

namespace Weir.Http;

/// <summary>What a server did to the bytes of a file on their way, although it was asked not to (RFC 9110, section 8.4).</summary>
internal static class ContentCoding
{
    private const string None = "identity";

    /// <summary>Whether the content is other bytes than the file.</summary>
    public static bool IsOf(HttpResponseMessage response) => response.Content.Headers.ContentEncoding.Any(static c => !Is(c, None));

    /// <summary>The bytes of the file.</summary>
    /// <exception cref="InvalidDataException">It is a coding that is not known here.</exception>
    public static Stream Decoded(HttpResponseMessage response, Stream content)
    {
        // The last was applied last.
        foreach (string coding in response.Content.Headers.ContentEncoding.Reverse())
        {
            content = Is(coding, None) ? content
                : Is(coding, "gzip") || Is(coding, "x-gzip") ? new GZipStream(content, CompressionMode.Decompress)
                : Is(coding, "deflate") ? new ZLibStream(content, CompressionMode.Decompress)
                : Is(coding, "br") ? new BrotliStream(content, CompressionMode.Decompress)
                : throw new InvalidDataException(
                    $"The server sent the file as '{coding}' although it was asked for as it is; gzip, deflate and br are decompressed.");
        }

        return content;
    }

    private static bool Is(string coding, string name) => coding.Equals(name, StringComparison.OrdinalIgnoreCase);
}
