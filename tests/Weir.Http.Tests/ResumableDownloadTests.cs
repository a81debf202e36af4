using System.Collections.Concurrent;
using System.Globalization;
using System.IO.Compression;
using System.Net;
using System.Text.RegularExpressions;
using Weir.Resilience;
using static Weir.Http.Tests.LoopbackServer;

namespace Weir.Http.Tests;

public sealed partial class ResumableDownloadTests : IDisposable
{
    private const string Tag = "ETag: \"v1\"";
    private const string OldDates = "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nDate: Thu, 01 Jan 2026 00:00:05 GMT";

    private readonly string _folder = Directory.CreateTempSubdirectory("weir-http-").FullName;
    private readonly HttpClient _client = new();
    private readonly byte[] _file = new byte[1_000_000];
    private readonly ConcurrentQueue<Exception> _failures = [];

    public ResumableDownloadTests() => new Random(5).NextBytes(_file);

    private string Target => Path.Combine(_folder, "file.bin");

    public void Dispose()
    {
        _client.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_GoodConnection_IsTheFile()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(200, Tag, _file));
        Recorded progress = new();

        DownloadedFile done = await Download().ToFileAsync(server.Address, Target, progress).WithinAsync();

        Assert.Equal(new DownloadedFile(Target, _file.Length, 0, 0), done);
        Assert.Equal(new DownloadProgress(_file.Length, _file.Length), progress.All.Last());
        Assert.Equal(progress.All.Select(static p => p.Received).Order(), progress.All.Select(static p => p.Received));
        AssertOnlyTheFile();
        Assert.Contains("Accept-Encoding: identity", Assert.Single(server.Requests), StringComparison.Ordinal);
        Assert.DoesNotContain("Range", server.Requests.Single(), StringComparison.Ordinal);
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_EmptyFile_IsEmpty()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(200, Tag));
        Assert.Equal(0, (await Download().ToFileAsync(server.Address, Target).WithinAsync()).Length);
        Assert.Equal(0, new FileInfo(Target).Length);
        Assert.Single(Directory.GetFiles(_folder));
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_BreaksOffAgainAndAgain_ContinuesAsLongAsItGetsFurther()
    {
        // 20 breaks, though only 2 retries in a row are allowed.
        await using LoopbackServer server = new((head, _) => FromRange(head, 50_000));

        DownloadedFile done = await Download(2).ToFileAsync(server.Address, Target).WithinAsync();

        Assert.InRange(done.Retries, 19, 100);
        Assert.All(_failures, static e => Assert.True(e is HttpIOException or HttpRequestException, e.ToString()));
        Assert.All(server.Requests.Skip(1), static r => Assert.Contains("If-Range: \"v1\"", r, StringComparison.Ordinal));
        AssertOnlyTheFile();
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_NeverGetsFurther_FailsAndKeepsThePart_WhichALaterCallContinues()
    {
        int most = 300_000;
        await using LoopbackServer server = new((head, _) => FromRange(head, Volatile.Read(ref most), absolute: true));

        await Assert.ThrowsAnyAsync<Exception>(() => Download(3).ToFileAsync(server.Address, Target).WithinAsync());
        Assert.False(File.Exists(Target));
        long left = new FileInfo(Target + ".part").Length;
        Assert.InRange(left, 1, 300_000);
        Assert.DoesNotContain("secret", await File.ReadAllTextAsync(Target + ".part.txt"), StringComparison.Ordinal);

        Volatile.Write(ref most, _file.Length);
        DownloadedFile done = await Download().ToFileAsync(server.Address, Target).WithinAsync();
        Assert.Equal(left, done.Resumed);
        AssertOnlyTheFile();
    }

    [Theory(Timeout = 90_000)]
    [InlineData("a file that changed")]
    [InlineData("ranges that are ignored")]
    [InlineData("another range than the asked one")]
    [InlineData("another total")]
    [InlineData("a range that is not satisfiable")]
    [InlineData("a range beyond the end")]
    [InlineData("more bytes than are missing")]
    public async Task ToFile_PartIsOfNoUse_StartsAgain(string why)
    {
        await using LoopbackServer server = new((head, number) =>
        {
            if (number == 0)
            {
                return Answer.Of(200, Tag, _file.AsMemory(0, 400_000), _file.Length);
            }

            return (why, IsRanged(head)) switch
            {
                ("another range than the asked one", true) => Answer.Of(206, $"Content-Range: bytes 0-9/{_file.Length}\r\n{Tag}", _file.AsMemory(0, 10)),
                ("another total", true) => Answer.Of(206, $"Content-Range: bytes {Asked(head)}-1999999/2000000\r\n{Tag}", _file.AsMemory(0, 10)),
                ("a range beyond the end", true) => Answer.Of(
                    206, $"Content-Range: bytes {Asked(head)}-{_file.Length}/*\r\n{Tag}", _file.AsMemory((int)Asked(head) - 1)),
                ("more bytes than are missing", true) => Answer.Of(
                    206, $"Content-Range: bytes {Asked(head)}-{_file.Length - 1}/{_file.Length}\r\n{Tag}", _file.AsMemory((int)Asked(head) - 1)),
                ("a range that is not satisfiable", true) => Answer.Of(416, "Content-Range: bytes */17"),
                _ => Answer.Of(200, why == "a file that changed" ? "ETag: \"v2\"" : Tag, _file),
            };
        });

        DownloadedFile done = await Download().ToFileAsync(server.Address, Target).WithinAsync();
        Assert.Equal(0, done.Resumed);
        Assert.Equal(1, done.Retries);
        AssertOnlyTheFile();
    }

    [Theory(Timeout = 90_000)]
    [InlineData("gzip")]
    [InlineData("X-GZIP")]
    [InlineData("deflate")]
    [InlineData("br")]
    [InlineData("deflate, identity, gzip")]
    public async Task ToFile_CompressedAlthoughItWasNotToBe_IsTheFile(string coding)
    {
        string headers = $"{Tag}\r\nContent-Encoding: {coding}";
        await using LoopbackServer server = new((_, _) => Answer.Of(200, headers, Sent(headers)));
        Recorded progress = new();

        DownloadedFile done = await Download().ToFileAsync(server.Address, Target, progress).WithinAsync();

        Assert.Equal(new DownloadedFile(Target, _file.Length, 0, 0), done);
        Assert.Equal(new DownloadProgress(_file.Length, null), progress.All.Last());
        AssertOnlyTheFile();
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_CodingThatIsNotKnown_IsAnErrorAndLeavesNothing()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(200, "Content-Encoding: zstd", _file));

        InvalidDataException error = await Assert.ThrowsAsync<InvalidDataException>(() => Download().ToFileAsync(server.Address, Target).WithinAsync());

        Assert.Equal("The server sent the file as 'zstd' although it was asked for as it is; gzip, deflate and br are decompressed.", error.Message);
        Assert.Single(server.Requests);
        Assert.Empty(Directory.GetFiles(_folder));
    }

    [Theory(Timeout = 90_000)]
    [InlineData("ETag: \"v1\"", "ETag: \"v2\"")]
    [InlineData("ETag: \"v1\"", "ETag: W/\"v1\"")]
    [InlineData("ETag: \"v1\"", "ETag: \"v1\"\r\nContent-Encoding: br")]
    [InlineData(OldDates, "Last-Modified: Thu, 01 Jan 2026 00:00:03 GMT\r\nDate: Thu, 01 Jan 2026 00:00:05 GMT")]
    public async Task ToFile_PartOfAFileThatChanged_FromAServerThatIgnoresIfRange_StartsAgain(string first, string then)
    {
        // The same length, as of a table that was changed in place.
        byte[] old = [.. _file.Select(static b => (byte)~b)];
        await using LoopbackServer server = new((head, number) =>
            number == 0 ? Answer.Of(200, first, old.AsMemory(0, 400_000), old.Length)
            : IsRanged(head) ? Answer.Of(
                206, $"Content-Range: bytes {Asked(head)}-{_file.Length - 1}/{_file.Length}\r\n{then}", _file.AsMemory((int)Asked(head)))
            : Answer.Of(200, then, Sent(then)));

        DownloadedFile done = await Download().ToFileAsync(server.Address, Target).WithinAsync();
        Assert.Equal(0, done.Resumed);
        AssertOnlyTheFile();
    }

    [Theory(Timeout = 90_000)]
    [InlineData("ETag: W/\"v1\"")]
    [InlineData("X-Nothing: 1")]
    [InlineData("Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT")]
    [InlineData("ETag: \"v1\"\r\nContent-Encoding: br")]
    public async Task ToFile_NothingExactToAskWith_StartsAgain(string headers)
    {
        await using LoopbackServer server = new((_, number) =>
            Answer.Of(200, headers, number == 0 ? Sent(headers).AsMemory(0, 400_000) : Sent(headers), Sent(headers).Length));

        await Download().ToFileAsync(server.Address, Target).WithinAsync();
        Assert.All(server.Requests, static r => Assert.DoesNotContain("Range", r, StringComparison.Ordinal));
        AssertOnlyTheFile();
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_DateThatIsOldEnough_IsAskedWith()
    {
        await using LoopbackServer server = new((head, _) => FromRange(head, 300_000, headers: OldDates));

        await Download().ToFileAsync(server.Address, Target).WithinAsync();
        Assert.All(server.Requests.Skip(1), static r => Assert.Contains("If-Range: Thu, 01 Jan 2026 00:00:00 GMT", r, StringComparison.Ordinal));
        AssertOnlyTheFile();
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ToFile_PartIsCompleteAlready_IsTakenOrTransferredAgain(bool handlerThrows)
    {
        await using LoopbackServer server = new((head, number) =>
            IsRanged(head) && Asked(head) >= _file.Length
                ? Answer.Of(416, $"Content-Range: bytes */{_file.Length}")
                : FromRange(head, number == 0 ? 1000 : _file.Length));
        await Assert.ThrowsAnyAsync<Exception>(() => Download(0).ToFileAsync(server.Address, Target).WithinAsync());
        await File.WriteAllBytesAsync(Target + ".part", _file);
        using HttpClient strict = new(new HttpStatusHandler(new SocketsHttpHandler()));

        DownloadedFile done = await Download(client: handlerThrows ? strict : null).ToFileAsync(server.Address, Target).WithinAsync();
        Assert.Equal(handlerThrows ? 0 : _file.Length, done.Resumed);
        AssertOnlyTheFile();
    }

#if DEBUG
    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task ToFile_SilentServerAndTheWatchFails_IsATimeoutAllTheSame(int at)
    {
        using FaultPlaces places = new(static (place, _) => place.StartsWith("ResumableDownload.cs:", StringComparison.Ordinal));
        ManualTimeProvider time = new();
        await using LoopbackServer server = new((head, number) => number switch
        {
            < 2 => Answer.Of(200, Tag, _file.AsMemory(0, 1000), _file.Length, isSilent: true),
            _ => FromRange(head, _file.Length),
        });
        places.FailAt(at);
        Task<DownloadedFile> task = Download(retries: 10_000, time).ToFileAsync(server.Address, Target);
        await time.PaceAsync(task, TimeSpan.FromSeconds(1));
        await task;
        Assert.True(places.HasFailed);
        Assert.Contains(_failures, static e => e is TimeoutException);
        Assert.Empty(FaultPlaces.InSources("Weir.Http").Except(places.Passed.Keys));
        AssertOnlyTheFile();
    }
#endif

    [Fact(Timeout = 90_000)]
    public async Task ToFile_SilentServer_IsATimeoutAndIsRetried()
    {
        ManualTimeProvider time = new();
        await using LoopbackServer server = new((head, number) => number switch
        {
            0 => new Answer("HTTP/1.1 200 Said\r\nContent-Length: 1000000", default, IsSilent: true),
            1 => Answer.Of(200, Tag, _file.AsMemory(0, 1000), _file.Length, isSilent: true),
            _ => FromRange(head, _file.Length),
        });

        // The clock goes on while the server answers as well: an attempt may need another one, however often, but has 30 looks at the clock each time.
        Task<DownloadedFile> task = Download(retries: 10_000, time).ToFileAsync(server.Address, Target);
        await time.PaceAsync(task, TimeSpan.FromSeconds(1));

        Assert.True((await task).Retries >= 2);
        Assert.Contains(_failures, static e => e is TimeoutException && e.Message == "The server sent nothing for 00:00:30.");
        AssertOnlyTheFile();
        Assert.Equal(0, time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_Cancelled_KeepsThePart()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(200, Tag, _file.AsMemory(0, 1000), _file.Length, isSilent: true));
        using CancellationTokenSource source = new();
        Task<DownloadedFile> task = Download().ToFileAsync(server.Address, Target, cancellationToken: source.Token);
        await Guard.UntilAsync(() => File.Exists(Target + ".part") && new FileInfo(Target + ".part").Length == 1000, "the first bytes");
        await source.CancelAsync();

        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => task.WithinAsync());
        Assert.Equal(source.Token, e.CancellationToken);
        Assert.Equal(1000, new FileInfo(Target + ".part").Length);
        Assert.Empty(_failures);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(404, 1)]
    [InlineData(501, 1)]
    [InlineData(503, 3)]
    public async Task ToFile_Status_IsRetriedIfItMayChange(int status, int requests)
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(status));
        HttpStatusException e = await Assert.ThrowsAsync<HttpStatusException>(() => Download(2).ToFileAsync(server.Address, Target).WithinAsync());

        Assert.Equal((HttpStatusCode)status, e.StatusCode);
        Assert.Equal(requests, server.Requests.Count);
        Assert.Empty(Directory.GetFiles(_folder));
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_UnaskedPart_IsAnError()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(206, "Content-Range: bytes 0-9/1000000", _file.AsMemory(0, 10)));
        await Assert.ThrowsAsync<InvalidDataException>(() => Download().ToFileAsync(server.Address, Target).WithinAsync());
        Assert.Empty(Directory.GetFiles(_folder));
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_PathInUse_IsAnErrorOfTheSecondOne()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(200, Tag, _file.AsMemory(0, 1000), _file.Length, isSilent: true));
        using CancellationTokenSource source = new();
        Task<DownloadedFile> first = Download().ToFileAsync(server.Address, Target, cancellationToken: source.Token);
        await Guard.UntilAsync(() => File.Exists(Target + ".part") && new FileInfo(Target + ".part").Length == 1000, "the first bytes");

        await Assert.ThrowsAsync<IOException>(() => Download().ToFileAsync(server.Address, Target).WithinAsync());
        await source.CancelAsync();
        await first.EndsAsync();
        Assert.Equal(1000, new FileInfo(Target + ".part").Length);
    }

    [Fact]
    public async Task BadInput_IsOneClearSentence()
    {
        Assert.Throws<ArgumentNullException>("client", () => new ResumableDownload((HttpClient)null!));
        ArgumentOutOfRangeException e = Assert.Throws<ArgumentOutOfRangeException>(
            () => new ResumableDownload(_client, new DownloadOptions { ReadTimeout = TimeSpan.Zero }));
        Assert.StartsWith("ReadTimeout must be more than zero and at most 49 days.", e.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentOutOfRangeException>(() => Download(-1));
        await Assert.ThrowsAsync<ArgumentException>("path", () => Download().ToFileAsync(new Uri("http://localhost/"), ""));
        await Assert.ThrowsAsync<DirectoryNotFoundException>(() => Download().ToFileAsync(new Uri("http://localhost/"), Path.Combine(_folder, "no", "f")));
    }

    private static bool IsRanged(string head) => head.Contains("\r\nRange: ", StringComparison.OrdinalIgnoreCase);

    private static long Asked(string head) => long.Parse(RangeStart().Match(head).Groups[1].Value, CultureInfo.InvariantCulture);

    [GeneratedRegex(@"\r\nRange: bytes=(\d+)-\r\n", RegexOptions.IgnoreCase)]
    private static partial Regex RangeStart();

    /// <summary>What a good server sends from the asked position on, but at most so many bytes, or not beyond a position.</summary>
    private Answer FromRange(string head, int most, bool absolute = false, string headers = Tag)
    {
        if (!IsRanged(head))
        {
            return Answer.Of(200, headers, _file.AsMemory(0, Math.Min(most, _file.Length)), _file.Length);
        }

        int from = (int)Asked(head);
        int count = Math.Clamp(absolute ? most - from : most, 0, _file.Length - from);
        return Answer.Of(
            206, $"Content-Range: bytes {from}-{_file.Length - 1}/{_file.Length}\r\n{headers}", _file.AsMemory(from, count), _file.Length - from);
    }

    private ResumableDownload Download(int retries = 5, TimeProvider? time = null, HttpClient? client = null) => new(client ?? _client, new DownloadOptions
    {
        Retry = new RetryOptions
        {
            MaxRetries = retries,
            BaseDelay = TimeSpan.Zero,
            OnRetryAsync = (_, e) =>
            {
                _failures.Enqueue(e);
                return default;
            },
        },
        TimeProvider = time ?? TimeProvider.System,
    });

    /// <summary>The file as a response with such headers has it.</summary>
    private byte[] Sent(string headers)
    {
        byte[] bytes = _file;
        string codings = headers.Split("Content-Encoding: ") is [_, var given] ? given : "";
        foreach (string coding in codings.ToLowerInvariant().Split(',', StringSplitOptions.TrimEntries))
        {
            using MemoryStream sent = new();
            using (Stream? coder = coding switch
            {
                "gzip" or "x-gzip" => new GZipStream(sent, CompressionLevel.Fastest, leaveOpen: true),
                "deflate" => new ZLibStream(sent, CompressionLevel.Fastest, leaveOpen: true),
                "br" => new BrotliStream(sent, CompressionLevel.Fastest, leaveOpen: true),
                _ => null,
            })
            {
                (coder ?? sent).Write(bytes);
            }

            bytes = sent.ToArray();
        }

        return bytes;
    }

    private void AssertOnlyTheFile()
    {
        Assert.Equal([Target], Directory.GetFiles(_folder));
        Assert.True(File.ReadAllBytes(Target).AsSpan().SequenceEqual(_file), "The file has other bytes than the server's.");
    }

    private sealed class Recorded : IProgress<DownloadProgress>
    {
        public ConcurrentQueue<DownloadProgress> All { get; } = [];

        public void Report(DownloadProgress value) => All.Enqueue(value);
    }
}
