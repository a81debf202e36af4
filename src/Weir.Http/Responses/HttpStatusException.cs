using System.Net;

namespace Weir.Http;

/// <summary>A response whose status is not a success. Unlike the platform's exception, it keeps what the server said about the next attempt.</summary>
public sealed class HttpStatusException : HttpRequestException
{
    /// <summary>Creates the exception of a response.</summary>
    /// <param name="statusCode">The status of the response.</param>
    /// <param name="reason">The reason phrase of the response, if any.</param>
    /// <param name="method">The method of the request, if known.</param>
    /// <param name="address">
    /// The address of the request, if known. The message leaves out its user information, query and fragment, which may be secret.
    /// </param>
    /// <param name="retryAfter">How long the server asks to wait; <see langword="null"/> if it did not say.</param>
    public HttpStatusException(
        HttpStatusCode statusCode, string? reason = null, HttpMethod? method = null, Uri? address = null, TimeSpan? retryAfter = null)
        : base(TextOf(statusCode, reason, method, address), null, statusCode)
    {
        Method = method;
        Address = address;
        RetryAfter = retryAfter;
    }

    /// <summary>The method of the request, if known.</summary>
    public HttpMethod? Method { get; }

    /// <summary>The address of the request, whole, if known.</summary>
    public Uri? Address { get; }

    /// <summary>How long the server asks to wait before the next attempt; never negative. <see langword="null"/> if it did not say.</summary>
    public TimeSpan? RetryAfter { get; }

    private static string TextOf(HttpStatusCode status, string? reason, HttpMethod? method, Uri? address)
    {
        string request = $"{method?.Method ?? "The request"}{(address is null ? "" : " " + WithoutQuery(address))}";
        return $"{request} was answered with {(int)status}{(string.IsNullOrWhiteSpace(reason) ? "" : $" ({reason})")}.";
    }

    private static string WithoutQuery(Uri address)
    {
        if (address.IsAbsoluteUri)
        {
            return address.GetComponents(UriComponents.SchemeAndServer | UriComponents.Path, UriFormat.UriEscaped);
        }

        string text = address.OriginalString;
        int end = text.AsSpan().IndexOfAny('?', '#');
        return end < 0 ? text : text[..end];
    }
}
