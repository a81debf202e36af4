using System.Buffers;
using System.Globalization;
using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using Weir.Core;
using Weir.Resilience;

namespace Weir.Http;

/// <summary>
/// Downloads files over connections that break: each attempt continues where the one before it ended, also after the program was started again.
/// </summary>
/// <remarks>
/// <para>
/// The bytes go to <c>PATH.part</c>, and <c>PATH.part.txt</c> says what they are a part of. Only a complete file gets the name itself, in one step. After a
/// failure or a cancellation the part stays, and the next call with the same address and path continues it.
/// </para>
/// <para>
/// An attempt continues only if the server says that its file is still the same (RFC 9110, <c>If-Range</c> with a strong entity tag, or with a date that is old
/// enough to be one) and states the length. Otherwise it starts again from the beginning. Requests ask for content that is not compressed.
/// What a server compresses all the same (gzip, deflate or br) is decompressed; it cannot be continued, and its length is not known before its end.
/// </para>
/// <para>Thread-safe. One instance serves any number of downloads at once, but a path only one at a time.</para>
/// </remarks>
public sealed class ResumableDownload
{
    private const int BufferSize = 128 * 1024;
    private static readonly TimeSpan ReportEvery = TimeSpan.FromMilliseconds(100);

    private readonly Func<HttpClient> _client;
    private readonly DownloadOptions _options;
    private readonly RetryOptions _retryOptions;
    private readonly RetryPolicy _retry;

    /// <summary>Creates a download.</summary>
    /// <param name="client">
    /// The client that sends the requests. Its <see cref="HttpClient.Timeout"/> limits only the wait for each response, not the transfer.
    /// </param>
    /// <param name="options">How it waits and tries again; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException"><paramref name="client"/> or an option is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of range. The exception names the property.</exception>
    public ResumableDownload(HttpClient client, DownloadOptions? options = null)
        : this(Always(client), options)
    {
    }

    /// <summary>Creates a download whose attempts have a client each, of a factory.</summary>
    /// <param name="factory">
    /// Makes the clients. Several downloads may ask it at once. The clients are not disposed of: their handlers are the factory's, which renews them.
    /// </param>
    /// <param name="clientName">The name under which the client was added, as in <c>AddHttpClient("files")</c>; an empty one for the default client.</param>
    /// <param name="options">How it waits and tries again; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="factory"/>, <paramref name="clientName"/> or an option is <see langword="null"/>.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of range. The exception names the property.</exception>
    public ResumableDownload(IHttpClientFactory factory, string clientName, DownloadOptions? options = null)
        : this(Named(factory, clientName), options)
    {
    }

    /// <summary>Creates a download whose attempts have a client each, of your own making.</summary>
    /// <param name="createClient">Gives the client of an attempt. It may be called by several downloads at once. The clients are not disposed of.</param>
    /// <param name="options">How it waits and tries again; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException"><paramref name="createClient"/> or an option is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of range. The exception names the property.</exception>
    public ResumableDownload(Func<HttpClient> createClient, DownloadOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(createClient);
        _client = createClient;
        _options = options ?? new DownloadOptions();
        _options.Validate();
        _retryOptions = _options.Retry with
        {
            IsTransient = _options.Retry.IsTransient ?? HttpRetry.IsTransient,
            DelayHint = _options.Retry.DelayHint ?? HttpRetry.RetryAfter,
        };
        _retry = new RetryPolicy(_retryOptions);
    }

    /// <summary>Downloads a file.</summary>
    /// <param name="address">The address, sent with GET. It may be relative to <see cref="HttpClient.BaseAddress"/>.</param>
    /// <param name="path">
    /// The path of the file. Its folder must exist. A file of that name is replaced when the download is complete, and not before; or it is refused, if
    /// <see cref="DownloadOptions.Overwrite"/> is <see langword="false"/>.
    /// </param>
    /// <param name="progress">Told at most every 100 ms, and at the end; <see langword="null"/> for none. An exception from it ends the download.</param>
    /// <param name="cancellationToken">Ends the download. The part stays and can be continued.</param>
    /// <returns>The finished file.</returns>
    /// <exception cref="ArgumentException"><paramref name="path"/> is empty.</exception>
    /// <exception cref="ArgumentNullException"><paramref name="address"/> or <paramref name="path"/> is <see langword="null"/>.</exception>
    /// <exception cref="HttpStatusException">The server's answer is no success, and no retry is left or would help.</exception>
    /// <exception cref="HttpRequestException">The last attempt got no response.</exception>
    /// <exception cref="TimeoutException">In the last attempt, the server sent nothing for <see cref="DownloadOptions.ReadTimeout"/>.</exception>
    /// <exception cref="InvalidDataException">The server answered something that was not asked for.</exception>
    /// <exception cref="IOException">
    /// The connection broke off in the last attempt; or the file cannot be written, another download writes it, or it is there and may not be overwritten.
    /// </exception>
    /// <exception cref="UnauthorizedAccessException">The file may not be written.</exception>
    /// <exception cref="OperationCanceledException">The caller cancelled.</exception>
    public async Task<DownloadedFile> ToFileAsync(
        Uri address, string path, IProgress<DownloadProgress>? progress = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(address);
        ArgumentException.ThrowIfNullOrEmpty(path);
        cancellationToken.ThrowIfCancellationRequested();
        path = Path.GetFullPath(path);
        if (!_options.Overwrite && File.Exists(path))
        {
            throw new IOException($"There is a file '{path}' already, and {nameof(DownloadOptions.Overwrite)} is false.");
        }

        (_retryOptions.Budget as RetryBudget)?.Deposit();
        using PartFile part = new(path, address);
        Reporter reporter = new(progress, part, _options.TimeProvider);
        long resumed = part.Length;
        long farthest = part.Length;
        int inARow = 0;
        int retries = 0;
        TimeSpan delay = TimeSpan.Zero;
        while (true)
        {
            try
            {
                resumed = Math.Min(resumed, await AttemptAsync(address, part, reporter, cancellationToken).ConfigureAwait(false));
                break;
            }
            catch (Exception e)
            {
                if (part.Length > farthest)
                {
                    (farthest, inARow, delay) = (part.Length, 0, TimeSpan.Zero);
                }

                inARow++;
                if (_retry.GetDelay(inARow, e, delay, cancellationToken) is not { } next)
                {
                    cancellationToken.ThrowIfCancellationRequested();
                    throw;
                }

                if (_retryOptions.OnRetryAsync is { } hook)
                {
                    await hook(inARow, e).ConfigureAwait(false);
                }

                delay = next;
                resumed = Math.Min(resumed, part.Length);
            }

            await Task.Delay(TimerDelay.RoundUp(delay), _options.TimeProvider, cancellationToken).ConfigureAwait(false);
            retries++;
        }

        part.Finish(_options.Overwrite);
        reporter.ReportNow();
        return new DownloadedFile(path, part.Length, resumed, retries);
    }

    private static Func<HttpClient> Named(IHttpClientFactory factory, string clientName)
    {
        ArgumentNullException.ThrowIfNull(factory);
        ArgumentNullException.ThrowIfNull(clientName);
        return () => factory.CreateClient(clientName);
    }

    private static Func<HttpClient> Always(HttpClient client)
    {
        ArgumentNullException.ThrowIfNull(client);
        return () => client;
    }

    /// <summary>Transfers what is missing.</summary>
    /// <returns>The length of the part at the start of the transfer.</returns>
    private async Task<long> AttemptAsync(Uri address, PartFile part, Reporter reporter, CancellationToken cancellationToken)
    {
        if (part.Length > 0 && !part.CanContinue)
        {
            part.Restart();
        }

        using ReadTimeoutWatch watch = new(_options.ReadTimeout, _options.TimeProvider, cancellationToken);
        try
        {
            HttpClient client = _client();
            while (true)
            {
                using HttpResponseMessage? response = await SendAsync(client, address, part, watch).ConfigureAwait(false);
                if (response is null || !IsUsableFor(response, part, out bool isComplete))
                {
                    // Nothing is left to continue with, so the next answer is to the whole.
                    part.Restart();
                    continue;
                }

                if (isComplete)
                {
                    return part.Length;
                }

                response.EnsureSuccess(_options.TimeProvider);
                if (response.StatusCode != HttpStatusCode.PartialContent)
                {
                    part.Restart(DownloadValidator.Of(response), ContentCoding.IsOf(response) ? null : response.Content.Headers.ContentLength);
                }
                else if (part.Length == 0)
                {
                    throw new InvalidDataException("The server sent a part of the file (206) although the whole was asked for.");
                }

                long from = part.Length;
                if (await TryCopyAsync(response, part, watch, reporter).ConfigureAwait(false))
                {
                    return from;
                }

                // More than is missing: these are not the bytes that were asked for.
                long? stated = part.Total;
                part.Restart();
                if (from == 0)
                {
                    throw new InvalidDataException($"The server sent more than the {stated} bytes that it had announced.");
                }
            }
        }
        catch (OperationCanceledException) when (watch.AsTimeout() is { } timeout)
        {
            throw timeout;
        }
    }

    /// <returns>The response; <see langword="null"/> if the server has no such range and a handler of the client made an exception of that.</returns>
    private static async Task<HttpResponseMessage?> SendAsync(HttpClient client, Uri address, PartFile part, ReadTimeoutWatch watch)
    {
        using HttpRequestMessage request = new(HttpMethod.Get, address);

        // The positions of a range are those of the content as it is sent.
        request.Headers.AcceptEncoding.Add(new StringWithQualityHeaderValue("identity"));
        if (part.Length > 0)
        {
            request.Headers.Range = new RangeHeaderValue(part.Length, null);
            request.Headers.TryAddWithoutValidation("If-Range", part.Validator);
        }

        watch.Start();
        try
        {
            return await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, watch.Token).ConfigureAwait(false);
        }
        catch (HttpRequestException e) when (e.StatusCode == HttpStatusCode.RequestedRangeNotSatisfiable && part.Length > 0)
        {
            return null;
        }
        finally
        {
            watch.Stop();
        }
    }

    /// <summary>Whether a response can be used for the part as it is. If not, the part is of no use.</summary>
    private static bool IsUsableFor(HttpResponseMessage response, PartFile part, out bool isComplete)
    {
        isComplete = false;
        ContentRangeHeaderValue? range = response.Content.Headers.ContentRange;
        switch (response.StatusCode)
        {
            case HttpStatusCode.PartialContent when part.Length > 0:
                return range is { From: { } from } && from == part.Length && (range.Length is null || range.Length == part.Total) && range.To < part.Total
                    && DownloadValidator.MayBeOf(response, part.Validator!);

            case HttpStatusCode.RequestedRangeNotSatisfiable when part.Length > 0:
                isComplete = part.Length == part.Total && range?.Length == part.Total;
                return isComplete;

            default:
                return true;
        }
    }

    /// <returns>Whether the bytes are no more than those that were missing.</returns>
    private static async Task<bool> TryCopyAsync(HttpResponseMessage response, PartFile part, ReadTimeoutWatch watch, Reporter reporter)
    {
        byte[] buffer = ArrayPool<byte>.Shared.Rent(BufferSize);
        try
        {
            watch.Start();
            Stream content = ContentCoding.Decoded(response, await response.Content.ReadAsStreamAsync(watch.Token).ConfigureAwait(false));
            await using (content.ConfigureAwait(false))
            {
                while (true)
                {
                    watch.Start();
                    int read = await content.ReadAsync(buffer, watch.Token).ConfigureAwait(false);
                    watch.Stop();
                    if (read == 0)
                    {
                        break;
                    }

                    if (part.Length + read > part.Total)
                    {
                        return false;
                    }

                    await part.AddAsync(buffer.AsMemory(0, read), watch.Token).ConfigureAwait(false);
                    reporter.Report();
                }
            }
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }

        if (part.Length < part.Total)
        {
            string missing = (part.Total.Value - part.Length).ToString(CultureInfo.InvariantCulture);
            throw new HttpIOException(HttpRequestError.ResponseEnded, $"The response ended {missing} bytes before its end.");
        }

        return true;
    }

    /// <summary>Tells the caller how far the download is, but not too often.</summary>
    private sealed class Reporter(IProgress<DownloadProgress>? progress, PartFile part, TimeProvider timeProvider)
    {
        private long _last = timeProvider.GetTimestamp();

        public void Report()
        {
            if (progress is not null && timeProvider.GetElapsedTime(_last) >= ReportEvery)
            {
                ReportNow();
                _last = timeProvider.GetTimestamp();
            }
        }

        public void ReportNow() => progress?.Report(new DownloadProgress(part.Length, part.Total));
    }
}

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

/// <summary>Cancels an attempt in which the server sends nothing for too long. Time counts only while the attempt waits for the server.</summary>
internal sealed class ReadTimeoutWatch : IDisposable
{
    private readonly CancellationTokenSource _source;
    private readonly CancellationToken _caller;
    private readonly TimeSpan? _limit;
    private readonly ITimer? _timer;

    public ReadTimeoutWatch(TimeSpan? limit, TimeProvider timeProvider, CancellationToken caller)
    {
        _limit = limit;
        _caller = caller;
        _source = CancellationTokenSource.CreateLinkedTokenSource(caller);
        if (limit is not null)
        {
            _timer = timeProvider.CreateTimer(
                static source => Unattended.Run(
                    (CancellationTokenSource)source!, static source => SafeCancel.Now(source), static (source, _) => SafeCancel.Now(source)),
                _source,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
        }
    }

    public CancellationToken Token => _source.Token;

    /// <summary>The wait for the server begins, with all of its time.</summary>
    public void Start()
    {
        if (_limit is { } limit)
        {
            _timer!.Change(limit, Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>The server sent something. What it is used for takes none of its time.</summary>
    public void Stop() => _timer?.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    /// <summary>What a cancellation of <see cref="Token"/> means, if it was not the caller's.</summary>
    public TimeoutException? AsTimeout() =>
        _source.IsCancellationRequested && !_caller.IsCancellationRequested ? new TimeoutException($"The server sent nothing for {_limit}.") : null;

    public void Dispose()
    {
        _timer?.Dispose();
        _source.Dispose();
    }
}

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

/// <summary>
/// The unfinished file, and beside it a description of what it is a part of, so that a later program can continue. The caller makes sure that only one
/// download uses them at a time.
/// </summary>
internal sealed class PartFile : IDisposable
{
    private const string Version = "weir-part 1";

    private readonly string _path;
    private readonly string _address;
    private readonly FileStream _stream;

    public PartFile(string path, Uri address)
    {
        _path = path;

        // Addresses may contain secret keys, which must not be written to a file.
        _address = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(address.OriginalString)));
        _stream = new FileStream(DataPath, FileMode.OpenOrCreate, FileAccess.Write, FileShare.None, bufferSize: 0, FileOptions.Asynchronous);
        try
        {
            ReadDescription();
        }
        catch
        {
            _stream.Dispose();
            throw;
        }
    }

    /// <summary>How many bytes it has.</summary>
    public long Length { get; private set; }

    /// <summary>What says that the server's file is still the same: a strong entity tag or a date. Without one, nothing can be resumed.</summary>
    public string? Validator { get; private set; }

    /// <summary>The length of the whole, if known.</summary>
    public long? Total { get; private set; }

    /// <summary>Whether a request can ask for the rest.</summary>
    public bool CanContinue => Validator is not null && Total is not null;

    private string DataPath => _path + ".part";

    private string DescriptionPath => _path + ".part.txt";

    /// <summary>Discards the bytes. Those that follow are of another file, or begin at its start.</summary>
    public void Restart(string? validator = null, long? total = null)
    {
        // The old description must not stand beside new bytes, whenever the program ends.
        File.Delete(DescriptionPath);
        _stream.SetLength(0);
        _stream.Position = 0;
        Length = 0;
        Validator = validator;
        Total = total;
        if (CanContinue)
        {
            File.WriteAllLines(DescriptionPath, [Version, _address, validator!, total!.Value.ToString(CultureInfo.InvariantCulture)]);
        }
    }

    public async ValueTask AddAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            await _stream.WriteAsync(bytes, cancellationToken).ConfigureAwait(false);
            Length += bytes.Length;
        }
        catch
        {
            // Some of the bytes may have been written.
            _stream.SetLength(Length);
            _stream.Position = Length;
            throw;
        }
    }

    /// <summary>Gives the file its own name. What had that name before is replaced; or it stays, and the part with it, if it must not be.</summary>
    public void Finish(bool overwrite)
    {
        _stream.Flush(flushToDisk: true);
        _stream.Dispose();
        File.Move(DataPath, _path, overwrite);
        File.Delete(DescriptionPath);
    }

    /// <summary>Closes the file. What cannot be resumed is deleted.</summary>
    public void Dispose()
    {
        if (!_stream.CanWrite)
        {
            return;
        }

        _stream.Dispose();
        if (Length == 0 || !CanContinue)
        {
            File.Delete(DataPath);
            File.Delete(DescriptionPath);
        }
    }

    private void ReadDescription()
    {
        if (_stream.Length > 0
            && File.Exists(DescriptionPath)
            && File.ReadAllLines(DescriptionPath) is [Version, { } address, { Length: > 0 } validator, { } total]
            && address == _address
            && long.TryParse(total, NumberStyles.None, CultureInfo.InvariantCulture, out long length)
            && _stream.Length <= length)
        {
            Length = _stream.Length;
            _stream.Position = Length;
            Validator = validator;
            Total = length;
            return;
        }

        Restart();
    }
}
