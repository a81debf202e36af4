using System.Buffers;
using System.IO.Pipelines;
using System.Net.Http.Headers;
using System.Threading.Tasks.Dataflow;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.Logging;
using Weir.Dashboard;
using Weir.Observability;
using Weir.Resilience;

namespace Weir.Tables.Dashboard;

/// <summary>What the process has of the dashboard while a run goes on.</summary>
internal enum DashboardArm
{
    /// <summary>No web server at all.</summary>
    Nothing,

    /// <summary>A web server with the page, which nobody looks at.</summary>
    Mapped,

    /// <summary>The same, with a browser's stream open.</summary>
    LookedAt,
}

/// <summary>A sample of an arm.</summary>
/// <param name="ItemsPerSecond">The pace of the run.</param>
/// <param name="BytesPerItem">What the whole process allocated for each item, beyond what it allocates in the same time without items.</param>
/// <param name="IdleBytesPerSecond">What it allocates without items.</param>
/// <param name="IdleShare">The share of all processors that it uses without items.</param>
/// <param name="DrawingsPerSecond">How often the page was drawn.</param>
internal sealed record DashboardSample(double ItemsPerSecond, double BytesPerItem, double IdleBytesPerSecond, double IdleShare, double DrawingsPerSecond);

/// <summary>What <c>dashboard</c> does: a run of items of 10 us on all processors, in turns without the page, with it, and with somebody who looks at it.</summary>
/// <remarks>
/// The reader of the stream is in the same process, so it takes from the run too: what is measured is more than what a browser on another machine costs. What the page
/// uses is measured while there are no items, because the pace of a run depends on what else the machine does, and the processor time of an idle process does not.
/// </remarks>
internal sealed class DashboardRun(TextWriter output, TextWriter progress)
{
    public const string Verb = "dashboard";

    // Longer than two looks of a page that nobody looks at, also its half in which there are no items.
    private static readonly TimeSpan Window = TimeSpan.FromSeconds(24);
    private const int ItemsPerRun = 20_000;
    private const int Messages = 5_000_000;
    private const int MessageRounds = 15;

    /// <summary>Measures, and writes the page.</summary>
    public async Task RunAsync(int rounds, FileInfo? page, CancellationToken cancellationToken)
    {
        PageFile.Check(page);
        PageRun run = new(page, output);
        long start = Stopwatch.GetTimestamp();
        CalibratedSpin spin = CalibratedSpin.Of(TimeSpan.FromMicroseconds(10), CalibratedSpin.MeasureStepsPerSecond());
        await using LiveThings things = new();
        List<DashboardSample[]> samples = [];
        DashboardArm[] arms = Enum.GetValues<DashboardArm>();
        foreach (DashboardArm arm in arms)
        {
            _ = await SampleAsync(arm, spin, TimeSpan.FromSeconds(2), cancellationToken);
        }

        // What is compiled in the background after that is over.
        _ = await IdleAsync(TimeSpan.FromSeconds(10), cancellationToken);

        for (int round = 0; round < rounds; round++)
        {
            DashboardSample[] turn = new DashboardSample[arms.Length];
            for (int i = 0; i < arms.Length; i++)
            {
                DashboardArm arm = arms[(i + round) % arms.Length];
                turn[(int)arm] = await SampleAsync(arm, spin, Window, cancellationToken);
            }

            samples.Add(turn);
            await progress.WriteLineAsync(Invariant(
                $"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  mapped {turn[1].ItemsPerSecond / turn[0].ItemsPerSecond:0.000}, looked at {turn[2].ItemsPerSecond / turn[0].ItemsPerSecond:0.000}"));
        }

        List<(double Off, double On)> messages = [];
        for (int round = -1; round < MessageRounds; round++)
        {
            (double off, double on) = round % 2 == 0
                ? (await MessagesAsync(isWatched: false), await MessagesAsync(isWatched: true))
                : Turned(await MessagesAsync(isWatched: true), await MessagesAsync(isWatched: false));
            if (round >= 0)
            {
                messages.Add((off, on));
            }
        }

        string extent = Invariant($"{rounds} rounds of windows of {Window.TotalSeconds:0} s; {Stopwatch.GetElapsedTime(start).TotalSeconds:0} s in all");
        await run.WriteAsync(DashboardPage.Render(run.Provenance(extent), samples, messages, LiveThings.Count, run.Existing));
    }

    private static (double Off, double On) Turned(double on, double off) => (off, on);

    /// <summary>Nanoseconds a message of a chain of two blocks, while the stages of all that is live are sampled or not.</summary>
    private static async Task<double> MessagesAsync(bool isWatched)
    {
        using LiveWatch? watch = isWatched ? WeirDiagnostics.Watch() : null;
        Weir.Dataflow.ActionBlock<int> last = new(static _ => { });
        Weir.Dataflow.TransformBlock<int, int> first = new(static message => message);
        first.LinkTo(last, new DataflowLinkOptions { PropagateCompletion = true });
        long began = Stopwatch.GetTimestamp();
        for (int message = 0; message < Messages; message++)
        {
            first.Post(message);
        }

        first.Complete();
        await last.Completion;
        return Stopwatch.GetElapsedTime(began).TotalNanoseconds / Messages;
    }

    private static async Task<DashboardSample> SampleAsync(DashboardArm arm, CalibratedSpin spin, TimeSpan window, CancellationToken cancellationToken)
    {
        int[] items = [.. Enumerable.Range(0, ItemsPerRun)];
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = Environment.ProcessorCount, OperationName = "measured", Control = new RunControl() };
        await using WebApplication? app = arm == DashboardArm.Nothing ? null : await StartAsync();
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        Task<int> looking = arm == DashboardArm.LookedAt ? LookAsync(app!.Urls.First(), end.Token) : Task.FromResult(0);
        (double idleBytes, double idleShare) = await IdleAsync(window / 2, cancellationToken);
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        long count = 0;
        long began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(began) < window)
        {
            await items.ForEachParallelAsync(
                (item, _) =>
                {
                    spin.Run(item);
                    return default;
                },
                options,
                cancellationToken);
            count += items.Length;
        }

        double seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        double allocated = GC.GetTotalAllocatedBytes(precise: true) - bytes;
        await end.CancelAsync();
        int drawings = await looking;
        return new DashboardSample(
            count / seconds, (allocated - (idleBytes * seconds)) / count, idleBytes, idleShare, drawings / (seconds + (window / 2).TotalSeconds));
    }

    /// <summary>What the process uses while it has no items.</summary>
    private static async Task<(double BytesPerSecond, double Share)> IdleAsync(TimeSpan window, CancellationToken cancellationToken)
    {
        // What has just started is over.
        await Task.Delay(TimeSpan.FromSeconds(1), cancellationToken);
        using Process process = Process.GetCurrentProcess();
        TimeSpan used = process.TotalProcessorTime;
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        long began = Stopwatch.GetTimestamp();
        await Task.Delay(window, cancellationToken);
        process.Refresh();
        TimeSpan took = Stopwatch.GetElapsedTime(began);
        return ((GC.GetTotalAllocatedBytes(precise: true) - bytes) / took.TotalSeconds, (process.TotalProcessorTime - used) / took / Environment.ProcessorCount);
    }

    private static async Task<WebApplication> StartAsync()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        WebApplication app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        app.MapWeir();
        await app.StartAsync();
        return app;
    }

    /// <summary>Reads the stream as a browser does, and makes no text of it, which is not the cost of the page.</summary>
    /// <returns>How many drawings came.</returns>
    private static async Task<int> LookAsync(string url, CancellationToken cancellationToken)
    {
        using HttpClient client = new();
        using HttpRequestMessage request = new(HttpMethod.Get, url + "/weir");
        request.Headers.Accept.Add(new MediaTypeWithQualityHeaderValue("text/event-stream"));
        int drawings = 0;
        try
        {
            using HttpResponseMessage response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellationToken);
            PipeReader reader = PipeReader.Create(await response.Content.ReadAsStreamAsync(cancellationToken));
            ReadResult read;
            do
            {
                read = await reader.ReadAsync(cancellationToken);
                ReadOnlySequence<byte> rest = read.Buffer;
                while (rest.PositionOf((byte)'\n') is { } end)
                {
                    drawings += rest.FirstSpan.StartsWith("data:"u8) ? 1 : 0;
                    rest = rest.Slice(rest.GetPosition(1, end));
                }

                reader.AdvanceTo(rest.Start, read.Buffer.End);
            }
            while (!read.IsCompleted);
        }
        catch (OperationCanceledException)
        {
            // The window is over.
        }

        return drawings;
    }

    /// <summary>What else is live in the process, in all arms: runs that wait, blocks in a chain, limits and circuit breakers.</summary>
    private sealed class LiveThings : IAsyncDisposable
    {
        private const int Runs = 100;
        private const int Blocks = 50;
        private const int Policies = 20;

        private readonly TaskCompletionSource _release = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly Task[] _runs;
        private readonly List<Weir.Dataflow.TransformBlock<int, int>> _blocks;
        private readonly SharedConcurrencyLimit[] _limits;
        private readonly CircuitBreaker[] _breakers;

        public LiveThings()
        {
            _runs = [.. Enumerable.Range(0, Runs).Select(number => new[] { number }.ForEachParallelAsync(
                async (_, _) => await _release.Task, new ParallelRunOptions { OperationName = $"waiting {number}" }))];
            _blocks = [.. Enumerable.Range(0, Blocks).Select(static number =>
                new Weir.Dataflow.TransformBlock<int, int>(static message => message, new ExecutionDataflowBlockOptions { NameFormat = $"block {number}" }))];
            foreach ((Weir.Dataflow.TransformBlock<int, int> from, Weir.Dataflow.TransformBlock<int, int> to) in _blocks.Zip(_blocks.Skip(1)))
            {
                from.LinkTo(to);
            }

            _blocks[0].Post(1);
            _limits = [.. Enumerable.Range(0, Policies).Select(static number => new SharedConcurrencyLimit(4) { Name = $"limit {number}" })];
            _breakers = [.. Enumerable.Range(0, Policies).Select(static number => new CircuitBreaker(new CircuitBreakerOptions { Name = $"breaker {number}" }))];
        }

        /// <summary>How many there are.</summary>
        public static int Count => Runs + Blocks + (2 * Policies);

        public async ValueTask DisposeAsync()
        {
            _release.SetResult();
            await Task.WhenAll(_runs);
            GC.KeepAlive(_blocks);
            GC.KeepAlive(_limits);
            GC.KeepAlive(_breakers);
        }
    }
}
