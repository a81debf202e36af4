namespace Weir.Http;

/// <summary>
/// Throws an <see cref="HttpStatusException"/> for every response that is not a success, so that <c>GetStringAsync</c> and the like keep the server's
/// <c>Retry-After</c>.
/// </summary>
/// <remarks>
/// A client with this handler never returns a response that is not a success; use it for clients whose calls treat each such response as a failure. Like every
/// handler, it is thread-safe and serves any number of calls at once.
/// </remarks>
public sealed class HttpStatusHandler : DelegatingHandler
{
    private readonly TimeProvider? _timeProvider;

    /// <summary>Creates the handler; something else sets the inner one, such as a factory of clients.</summary>
    /// <param name="timeProvider">The clock, for a <c>Retry-After</c> that is a date; <see langword="null"/> for the system's.</param>
    public HttpStatusHandler(TimeProvider? timeProvider = null) => _timeProvider = timeProvider;

    /// <summary>Creates the handler before another one.</summary>
    /// <param name="innerHandler">The handler that sends the requests, such as a <see cref="SocketsHttpHandler"/>.</param>
    /// <param name="timeProvider">The clock, for a <c>Retry-After</c> that is a date; <see langword="null"/> for the system's.</param>
    public HttpStatusHandler(HttpMessageHandler innerHandler, TimeProvider? timeProvider = null)
        : base(innerHandler) => _timeProvider = timeProvider;

    /// <inheritdoc/>
    protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken) =>
        (await base.SendAsync(request, cancellationToken).ConfigureAwait(false)).EnsureSuccess(_timeProvider);

    /// <inheritdoc/>
    protected override HttpResponseMessage Send(HttpRequestMessage request, CancellationToken cancellationToken) =>
        base.Send(request, cancellationToken).EnsureSuccess(_timeProvider);
}
