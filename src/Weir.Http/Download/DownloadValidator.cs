using System.Net.Http.Headers;

namespace Weir.Http;

/// <summary>What a later request can ask the server: is it still this file?</summary>
internal static class DownloadValidator
{
    // RFC 9110, section 8.8.2.2: a date is exact if it was at least this old when the response was made.
    private static readonly TimeSpan MinimumAge = TimeSpan.FromSeconds(1);

    /// <summary>The value for <c>If-Range</c>, or <see langword="null"/> if the response has none that is exact.</summary>
    public static string? Of(HttpResponseMessage response)
    {
        if (ContentCoding.IsOf(response))
        {
            // The response is compressed although the request did not ask for it, so the same file may have other bytes the next time.
            return null;
        }

        if (response.Headers.ETag is { IsWeak: false } tag && tag != EntityTagHeaderValue.Any)
        {
            return tag.ToString();
        }

        return response.Content.Headers.LastModified is { } modified && response.Headers.Date is { } date && date - modified >= MinimumAge
            ? modified.ToString("R")
            : null;
    }

    /// <summary>Whether a part may be one of the file that was asked for. A server that does not know <c>If-Range</c> sends a part of any file.</summary>
    /// <param name="response">The response with the part. What it does not say is taken for the same.</param>
    /// <param name="validator">What was sent as <c>If-Range</c>.</param>
    public static bool MayBeOf(HttpResponseMessage response, string validator)
    {
        bool isTag = validator.StartsWith('"');
        string? said = isTag ? response.Headers.ETag?.ToString() : response.Content.Headers.LastModified?.ToString("R");

        // The bytes of a compressed part are others than those of the whole, which was not compressed.
        return (said is null || said == validator) && !ContentCoding.IsOf(response);
    }
}
