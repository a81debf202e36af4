using System.Net.Http.Json;
using Weir.Resilience;

namespace Weir.Http;

/// <summary>
/// Sends the requests of an <see cref="HttpClient"/> through a limit or a chain of policies, which any number of clients, chains and runs share.
/// </summary>
/// <remarks>
/// <para>
/// An attempt whose response says that the server could not answer (<see cref="IsFailure"/>: 503 and 429 among them, 404 not) is a failure for the policies:
/// it is retried, and counts for a circuit breaker and for the law of an <see cref="AdaptiveLimit"/>. The caller gets the last response all the same. What a
/// policy refuses throws what the policy throws, such as a <see cref="ConcurrencyLimitRejectedException"/>.
/// </para>
/// <para>
/// A request is sent again only if it can be (<see cref="MayRepeat"/>): as it was before the first attempt, without what later handlers and redirections have
/// made of it.
/// </para>
/// <para>
/// A permit is held until the headers of the response have come. Who reads a body, when, and whether at all, a handler does not learn: a permit that waited for
/// it might never come back. Set <see cref="MaxBufferedBody"/> to hold it until the whole body has come.
/// </para>
/// <para>
/// <see cref="HttpClient.Timeout"/> reaches a handler as a cancellation by the caller, which no policy counts or retries. Set it to
/// <see cref="Timeout.InfiniteTimeSpan"/>, and the time limits in the chain.
/// </para>
/// <para>A synchronous <c>Send</c> blocks its thread for as long as the policies wait.</para>
/// <para>Like every handler, it is thread-safe. A factory of clients may make one for each of its chains of handlers, around the same policies.</para>
/// </remarks>
public sealed class HttpPolicyHandler : DelegatingHandler
{
    private readonly PolicyChain<HttpResponseMessage> _chain;
    private readonly PolicyChain<HttpResponseMessage> _once;

    /// <summary>Creates the handler of a limit. Something else sets the inner handler, such as a factory of clients.</summary>
    /// <param name="limit">
    /// A <see cref="SharedConcurrencyLimit"/>, an <see cref="AdaptiveLimit"/>, a share of one (<see cref="AdaptiveLimit.With"/>), or one for each key of an
    /// <see cref="HttpRequestMessage"/>, such as its host: <c>ConcurrencyLimits.ByKey&lt;HttpRequestMessage, string&gt;</c>.
    /// </param>
    /// <exception cref="ArgumentNullException"><paramref name="limit"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">The limit is of another type, or its keys are those of other items than requests.</exception>
    public HttpPolicyHandler(IConcurrencyLimitSetting limit)
        : this(ChainOf(limit))
    {
    }

    /// <summary>Creates the handler of a chain for calls of any result. Something else sets the inner handler, such as a factory of clients.</summary>
    /// <param name="chain">The policies. Those by key have the keys of an <see cref="HttpRequestMessage"/>.</param>
    /// <exception cref="ArgumentNullException"><paramref name="chain"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">The keys of a policy are those of other items than requests.</exception>
    public HttpPolicyHandler(PolicyChain chain)
        : this(ChainOf(chain))
    {
    }

    /// <summary>Creates the handler of a chain for responses. Something else sets the inner handler, such as a factory of clients.</summary>
    /// <param name="chain">
    /// The policies. Those by key have the keys of an <see cref="HttpRequestMessage"/>. Its rules for results get each response that is no failure.
    /// </param>
    /// <exception cref="ArgumentNullException"><paramref name="chain"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">The keys of a policy are those of other items than requests.</exception>
    public HttpPolicyHandler(PolicyChain<HttpResponseMessage> chain)
    {
        ArgumentNullException.ThrowIfNull(chain);
        if (chain.NeedsItem)
        {
            // Finds out now whether the keys are those of requests.
            _ = chain.For<HttpRequestMessage>(null!);
        }

        _chain = chain;
        _once = chain.HasRetries ? chain.WithoutRetries() : chain;
    }

    /// <summary>Which responses are failures for the policies.</summary>
    /// <value>
    /// The default is <see cref="HttpRetry.IsTransient(System.Net.HttpStatusCode)"/> of the status: the server could not answer now. A 404 is an answer.
    /// </value>
    /// <remarks>
    /// For a policy, such a response is an <see cref="HttpStatusException"/>, which keeps the server's <c>Retry-After</c> for
    /// <see cref="HttpRetry.RetryAfter(Exception)"/>. It is called for each response, also from several threads at once; what it throws ends the attempt.
    /// </remarks>
    public Func<HttpResponseMessage, bool> IsFailure { get; init; } = static response => HttpRetry.IsTransient(response.StatusCode);

    /// <summary>
    /// How long a body may be that is read within the attempt: then the permit is held, the time limits run and the attempt is retried until the whole body has
    /// come, and the response has all of it in memory.
    /// </summary>
    /// <value>
    /// Bytes, at least 0 and at most <see cref="int.MaxValue"/>; <see langword="null"/>, the default, if an attempt ends when the headers have come. A longer
    /// body ends its attempt with an <see cref="InvalidDataException"/>.
    /// </value>
    /// <remarks>
    /// For clients that read their responses whole, as <c>GetStringAsync</c> and <c>GetAsync</c> do; not for downloads and endless streams.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative or more than <see cref="int.MaxValue"/>.</exception>
    public long? MaxBufferedBody
    {
        get;
        init => field = value is null or (>= 0 and <= int.MaxValue)
            ? value
            : throw new ArgumentOutOfRangeException(
                nameof(MaxBufferedBody), value, $"{nameof(MaxBufferedBody)} must be from 0 to {int.MaxValue} bytes, or null.");
    }

    /// <summary>The option of a request that says whether it may be sent again: <c>request.Options.Set(HttpPolicyHandler.MayRepeat, true)</c>.</summary>
    /// <value>
    /// Without it, a request is repeated if its method is idempotent (GET, HEAD, OPTIONS, TRACE, PUT and DELETE, by RFC 9110, section 9.2.2), and its content
    /// is in memory: none, bytes, text, a form, JSON, or parts that all are. Say <see langword="true"/> of a POST if the server recognises repetitions, and of
    /// other content if it can be written several times.
    /// </value>
    public static HttpRequestOptionsKey<bool> MayRepeat { get; } = new("Weir.Http.MayRepeat");

    /// <inheritdoc/>
    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken) =>
        RunAsync(request, isSynchronous: false, cancellationToken);

    /// <inheritdoc/>
    protected override HttpResponseMessage Send(HttpRequestMessage request, CancellationToken cancellationToken) =>
        RunAsync(request, isSynchronous: true, cancellationToken).GetAwaiter().GetResult();

    private static PolicyChain<HttpResponseMessage> ChainOf(IConcurrencyLimitSetting limit)
    {
        ArgumentNullException.ThrowIfNull(limit);
        return new PolicyChain<HttpResponseMessage>(new PolicyChainOptions<HttpResponseMessage> { ConcurrencyLimit = limit });
    }

    private static PolicyChain<HttpResponseMessage> ChainOf(PolicyChain chain)
    {
        ArgumentNullException.ThrowIfNull(chain);
        return chain.Of<HttpResponseMessage>();
    }

    private async Task<HttpResponseMessage> RunAsync(HttpRequestMessage request, bool isSynchronous, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(request);
        bool repeats = _chain.HasRetries && Repeats.MayBe(request);
        PolicyChain<HttpResponseMessage> chain = repeats ? _chain : _once;
        if (chain.NeedsItem)
        {
            chain = chain.For(request);
        }

        Exchange exchange = new(this, request, repeats ? Repeats.Copy(request) : null, isSynchronous);
        try
        {
            return await chain.ExecuteAsync(static (exchange, token) => exchange.AttemptAsync(token), exchange, cancellationToken).ConfigureAwait(false);
        }
        catch (HttpStatusException failure) when (exchange.TryTake(failure) is { } response)
        {
            return response;
        }
        finally
        {
            exchange.End();
        }
    }

    private Task<HttpResponseMessage> SendInnerAsync(HttpRequestMessage request, bool isSynchronous, CancellationToken token) =>
        isSynchronous ? Task.FromResult(base.Send(request, token)) : base.SendAsync(request, token);

    /// <summary>
    /// One request and all of its attempts. The response of a failed attempt is kept until the next attempt begins or the call has ended: it may be the one
    /// that the caller gets.
    /// </summary>
    /// <remarks>
    /// An attempt that a time limit gave up may still run beside the next one, and after the end. So only the newest attempt keeps its response, and none does
    /// after the end; the others dispose of theirs. Otherwise such a response would hold its connection until the garbage collector finds it.
    /// </remarks>
    private sealed class Exchange(HttpPolicyHandler handler, HttpRequestMessage request, HttpRequestMessage? original, bool isSynchronous)
    {
        private readonly Lock _lock = new();

        // Under _lock.
        private int _attempts;
        private bool _hasEnded;
        private (HttpStatusException Failure, HttpResponseMessage Response)? _kept;

        public async ValueTask<HttpResponseMessage> AttemptAsync(CancellationToken token)
        {
            int number = Begin();
            HttpResponseMessage response = await handler.SendInnerAsync(number == 1 ? request : Repeats.Copy(original!), isSynchronous, token)
                .ConfigureAwait(false);
            try
            {
                if (handler.MaxBufferedBody is { } most)
                {
                    await BufferAsync(response.Content, most, token).ConfigureAwait(false);
                }

                if (!handler.IsFailure(response))
                {
                    return response;
                }
            }
            catch
            {
                response.Dispose();
                throw;
            }

            HttpStatusException failure = response.ToException();
            if (!TryKeep(number, failure, response))
            {
                response.Dispose();
            }

            throw failure;
        }

        /// <summary>The response that an exception stands for, which belongs to the caller now.</summary>
        public HttpResponseMessage? TryTake(HttpStatusException failure)
        {
            lock (_lock)
            {
                HttpResponseMessage? response = _kept is { } kept && kept.Failure == failure ? kept.Response : null;
                _kept = response is null ? _kept : null;
                return response;
            }
        }

        /// <summary>The call has ended: what is kept is not wanted.</summary>
        public void End() => Drop(hasEnded: true, out _);

        private int Begin()
        {
            Drop(hasEnded: false, out int number);
            return number;
        }

        private void Drop(bool hasEnded, out int attempts)
        {
            HttpResponseMessage? dropped;
            lock (_lock)
            {
                _hasEnded |= hasEnded;
                attempts = hasEnded ? _attempts : ++_attempts;
                dropped = _kept?.Response;
                _kept = null;
            }

            dropped?.Dispose();
        }

        private bool TryKeep(int number, HttpStatusException failure, HttpResponseMessage response)
        {
            lock (_lock)
            {
                bool isKept = !_hasEnded && number == _attempts;
                _kept = isKept ? (failure, response) : _kept;
                return isKept;
            }
        }

        private static async Task BufferAsync(HttpContent content, long most, CancellationToken token)
        {
            try
            {
                await content.LoadIntoBufferAsync(most, token).ConfigureAwait(false);
            }
            catch (HttpRequestException e) when (e.HttpRequestError == HttpRequestError.ConfigurationLimitExceeded)
            {
                // As it is, it would look like a connection that broke off, and be retried.
                throw new InvalidDataException($"The body of the response is longer than {nameof(MaxBufferedBody)}, which is {most} bytes.", e);
            }
        }
    }

    /// <summary>Which requests can be sent again, and how.</summary>
    private static class Repeats
    {
        public static bool MayBe(HttpRequestMessage request) =>
            request.Options.TryGetValue(MayRepeat, out bool may) ? may : IsIdempotent(request.Method) && IsInMemory(request.Content);

        /// <summary>
        /// A request as this one is now. Each repetition is a message of its own: a redirection changes the address and the method of a message, handlers add
        /// headers to it, and an attempt that was given up may still read it. The content is the same.
        /// </summary>
        public static HttpRequestMessage Copy(HttpRequestMessage request)
        {
            HttpRequestMessage copy = new(request.Method, request.RequestUri)
            {
                Content = request.Content,
                Version = request.Version,
                VersionPolicy = request.VersionPolicy,
            };
            foreach ((string name, System.Net.Http.Headers.HeaderStringValues values) in request.Headers.NonValidated)
            {
                copy.Headers.TryAddWithoutValidation(name, values);
            }

            foreach ((string key, object? value) in request.Options)
            {
                ((IDictionary<string, object?>)copy.Options)[key] = value;
            }

            return copy;
        }

        private static bool IsIdempotent(HttpMethod method) =>
            method == HttpMethod.Get || method == HttpMethod.Head || method == HttpMethod.Options || method == HttpMethod.Trace || method == HttpMethod.Put
                || method == HttpMethod.Delete;

        private static bool IsInMemory(HttpContent? content) => content switch
        {
            null or ByteArrayContent or ReadOnlyMemoryContent or JsonContent => true,
            MultipartContent parts => parts.All(IsInMemory),
            _ => false,
        };
    }
}
