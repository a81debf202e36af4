using System.Text;
using Weir.Resilience;
using static Weir.Http.Tests.LoopbackServer;

namespace Weir.Http.Tests;

/// <summary>What a download may be told: which client each attempt has, and that a file must not be replaced.</summary>
public sealed class DownloadChoiceTests : IDisposable
{
    private const string Tag = "ETag: \"v1\"";

    private static readonly byte[] Content = Encoding.ASCII.GetBytes("the file of the server");

    private readonly string _folder = Directory.CreateTempSubdirectory("weir-http-").FullName;
    private readonly HttpClient _client = new();

    private string Target => Path.Combine(_folder, "file.bin");

    public void Dispose()
    {
        _client.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_FactoryOfClients_IsAskedForEachAttempt()
    {
        int answers = 0;
        await using LoopbackServer server = new((_, _) => Interlocked.Increment(ref answers) == 1 ? Answer.Of(503, "") : Answer.Of(200, Tag, Content));
        int clients = 0;
        ResumableDownload download = new(
            () =>
            {
                clients++;
                return _client;
            },
            new DownloadOptions { Retry = new RetryOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero } });

        Assert.Equal(1, (await download.ToFileAsync(server.Address, Target).WithinAsync()).Retries);
        Assert.Equal(2, clients);
        Assert.Equal(Content, File.ReadAllBytes(Target));
        Assert.Throws<ArgumentNullException>("createClient", () => new ResumableDownload((Func<HttpClient>)null!));
        Assert.Throws<ArgumentNullException>("client", () => new ResumableDownload((HttpClient)null!));
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_FactoryAndTheNameOfAClient_MakesOneForEachAttempt()
    {
        int answers = 0;
        await using LoopbackServer server = new((_, _) => Interlocked.Increment(ref answers) == 1 ? Answer.Of(503, "") : Answer.Of(200, Tag, Content));
        OneClient factory = new(_client);
        ResumableDownload download = new(factory, "files", new DownloadOptions { Retry = new RetryOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero } });

        Assert.Equal(1, (await download.ToFileAsync(server.Address, Target).WithinAsync()).Retries);
        Assert.Equal(["files", "files"], factory.Names);
        Assert.Equal(Content, File.ReadAllBytes(Target));
        Assert.Throws<ArgumentNullException>("factory", () => new ResumableDownload(null!, "files"));
        Assert.Throws<ArgumentNullException>("clientName", () => new ResumableDownload(factory, null!));
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_FileIsThereAndMustStay_IsRefusedBeforeAnyRequest()
    {
        await using LoopbackServer server = new((_, _) => Answer.Of(200, Tag, Content));
        await File.WriteAllTextAsync(Target, "mine", TestContext.Current.CancellationToken);

        IOException error = await Assert.ThrowsAsync<IOException>(() => Careful().ToFileAsync(server.Address, Target).WithinAsync());

        Assert.Equal($"There is a file '{Target}' already, and Overwrite is false.", error.Message);
        Assert.Empty(server.Requests);
        Assert.Equal("mine", File.ReadAllText(Target));
        Assert.Equal([Target], Directory.GetFiles(_folder));
    }

    [Fact(Timeout = 90_000)]
    public async Task ToFile_FileComesMeanwhileAndMustStay_IsKeptAndThePartToo()
    {
        await using LoopbackServer server = new((head, _) =>
        {
            // Another program is quicker. Later, nothing is left to be sent.
            if (head.Contains("Range: ", StringComparison.Ordinal))
            {
                return Answer.Of(416, $"Content-Range: bytes */{Content.Length}");
            }

            File.WriteAllText(Target, "mine");
            return Answer.Of(200, Tag, Content);
        });

        await Assert.ThrowsAsync<IOException>(() => Careful().ToFileAsync(server.Address, Target).WithinAsync());
        Assert.Equal("mine", File.ReadAllText(Target));

        File.Delete(Target);
        Assert.Equal(new DownloadedFile(Target, Content.Length, Content.Length, 0), await Careful().ToFileAsync(server.Address, Target).WithinAsync());
        Assert.Equal(Content, File.ReadAllBytes(Target));
        Assert.Equal([Target], Directory.GetFiles(_folder));
    }

    // A disk, or a caller, that is slow for longer than the limit: the server is not.
    [Fact(Timeout = 90_000)]
    public async Task ToFile_WhatIsNotAWaitForTheServer_TakesNoneOfItsTime()
    {
        byte[] large = new byte[1_000_000];
        await using LoopbackServer server = new((_, _) => Answer.Of(200, Tag, large));
        SlowEverything slow = new(Target + ".part");
        ResumableDownload download = new(
            () =>
            {
                slow.Clock.Advance(TimeSpan.FromSeconds(31));
                return _client;
            },
            new DownloadOptions { Retry = new RetryOptions { MaxRetries = 0 }, TimeProvider = slow });

        DownloadedFile done = await download.ToFileAsync(server.Address, Target, slow).WithinAsync();

        Assert.Equal(large, File.ReadAllBytes(Target));
        Assert.Equal(large.Length, done.Length);
        Assert.True(slow.Reports >= 2, "No report came between two waits.");
        Assert.True(slow.Waits.Count >= 1 + (large.Length / (128 * 1024)), $"{slow.Waits.Count} waits.");

        // While the time runs, nothing is written.
        Assert.All(slow.Waits, static wait => Assert.Equal(wait.LengthAtStart, wait.LengthAtStop));
        Assert.True(slow.Waits[^1].LengthAtStart > 0);
    }

    private ResumableDownload Careful() => new(_client, new DownloadOptions { Overwrite = false });

    /// <summary>A clock that notes how long the part is whenever the time limit of a wait starts and stops. Each report takes 31 s.</summary>
    private sealed class SlowEverything(string path) : TimeProvider, IProgress<DownloadProgress>
    {
        public ManualTimeProvider Clock { get; } = new();

        public List<(long LengthAtStart, long LengthAtStop)> Waits { get; } = [];

        public int Reports { get; private set; }

        public override long TimestampFrequency => Clock.TimestampFrequency;

        private long Length => File.Exists(path) ? new FileInfo(path).Length : 0;

        public override long GetTimestamp() => Clock.GetTimestamp();

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
            new Noted(this, Clock.CreateTimer(callback, state, dueTime, period));

        public void Report(DownloadProgress value)
        {
            Reports++;
            Clock.Advance(TimeSpan.FromSeconds(31));
        }

        private sealed class Noted(SlowEverything owner, ITimer timer) : ITimer
        {
            private long? _start;

            public bool Change(TimeSpan dueTime, TimeSpan period)
            {
                if (_start is { } start)
                {
                    owner.Waits.Add((start, owner.Length));
                }

                _start = dueTime == Timeout.InfiniteTimeSpan ? null : owner.Length;
                return timer.Change(dueTime, period);
            }

            public void Dispose() => timer.Dispose();

            public ValueTask DisposeAsync() => timer.DisposeAsync();
        }
    }

    /// <summary>A factory of one client, which notes the names that it is asked for.</summary>
    private sealed class OneClient(HttpClient client) : IHttpClientFactory
    {
        public List<string> Names { get; } = [];

        public HttpClient CreateClient(string name)
        {
            Names.Add(name);
            return client;
        }
    }
}
