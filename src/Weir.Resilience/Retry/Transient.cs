using System.Data.Common;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Resilience;

/// <summary>Recognises failures that the platform itself calls transient. These are retried by default.</summary>
/// <remarks>
/// A failure that is not in this list, such as a bug or an invalid input, usually recurs at the next attempt, and a call that is repeated blindly may do its
/// work twice. A limit that refuses a call is in this process and knows that it has more than it can do: trying again would add to that. To add to the list: <c>e => Transient.IsTransient(e) || e is MyException</c>. To retry everything: <c>_ => true</c>.
/// </remarks>
public static class Transient
{
    /// <summary>Whether a failure is transient, so that the next attempt may succeed.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// <see langword="true"/> for
    /// <list type="bullet">
    /// <item>
    /// a <see cref="TimeoutException"/>, and an <see cref="OperationCanceledException"/> with one as its inner exception: an attempt that timed out, and
    /// <c>HttpClient.Timeout</c>;
    /// </item>
    /// <item>a <see cref="SocketException"/>;</item>
    /// <item>an <see cref="HttpRequestException"/> without a status code, or with 408, 429 or 5xx, and an <see cref="HttpIOException"/>;</item>
    /// <item>a <see cref="DbException"/> whose <see cref="DbException.IsTransient"/> is true;</item>
    /// <item>an <see cref="IOException"/> whose inner exception is one of these;</item>
    /// <item>an <see cref="AggregateException"/> all of whose inner exceptions are transient.</item>
    /// </list>
    /// <see langword="false"/> for everything else: any other cancellation, an open circuit, what a limit refused
    /// (<see cref="RateLimitRejectedException"/>, <see cref="ConcurrencyLimitRejectedException"/>), and exceptions that merely contain one of these.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="exception"/> is <see langword="null"/>.</exception>
    /// <remarks>This method is thread-safe.</remarks>
    public static bool IsTransient(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        return exception switch
        {
            OperationCanceledException => TimeoutFailure.Is(exception),
            TimeoutException or SocketException => true,
            IOException { InnerException: { } inner } when IsTransient(inner) => true,
            AggregateException { InnerExceptions: { Count: > 0 } all } => all.All(IsTransient),

            // All database exceptions are of this kind. Checked first, so that a program without a database does not load its assembly.
            ExternalException => IsTransientOfDatabase(exception),
            _ => IsTransientOfHttp(exception),
        };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool IsTransientOfDatabase(Exception exception) => exception is DbException { IsTransient: true };

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool IsTransientOfHttp(Exception exception) => exception switch
    {
        HttpRequestException { StatusCode: { } status } => status is HttpStatusCode.RequestTimeout or HttpStatusCode.TooManyRequests || (int)status / 100 == 5,

        // No response, or one that broke off. The latter has its own type if it occurs while the response is read.
        HttpRequestException or HttpIOException => true,
        _ => false,
    };
}
