using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using Weir.Observability;
using Weir.TestKit;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Observability;

/// <summary>The instruments. Alone, because a listener is one for the whole process.</summary>
[Collection(nameof(Alone))]
public sealed class MeterTests : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly ConcurrentQueue<(string Name, double Value, string Tags)> _measured = new();

    public MeterTests()
    {
        _listener.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName)
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => _measured.Enqueue((instrument.Name, value, Text(tags))));
        _listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => _measured.Enqueue((instrument.Name, value, Text(tags))));
        _listener.Start();
    }

    public void Dispose() => _listener.Dispose();

    [Fact(Timeout = 90_000)]
    public async Task Instruments_DuringAndAfterARun_TellWhatHappened()
    {
        // A run of another test may still be under way.
        const string Own = "weir.operation=SelectParallelAsync,weir.operation.name=ten.items";
        await MakeInstrumentsAsync();
        using Gate gate = new();
        TaskCompletionSource inside = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int calls = 0;
        Task<List<int>> run = Enumerable.Range(0, 10).SelectParallelAsync(
            async (x, token) =>
            {
                if (x >= 8)
                {
                    throw new FormatException();
                }

                if (Interlocked.Increment(ref calls) == 4)
                {
                    inside.SetResult();
                }

                await gate.WaitAsync(token);
                return x;
            },
            new ParallelRunOptions { OperationName = "ten.items", MaxDegreeOfParallelism = 4, ErrorMode = ErrorMode.BestEffort });
        await inside.Task;
        Dictionary<string, double> during = Observe();
        Assert.Equal(1, during[$"weir.runs.active|{Own}"]);
        Assert.Equal(4, during[$"weir.items.active|{Own}"]);
        Assert.Equal(4, during[$"weir.concurrency.limit|{Own}"]);
        gate.Open();
        Assert.Equal(8, (await run).Count);

        Dictionary<string, double> after = Observe();
        Assert.Equal(0, after[$"weir.runs.active|{Own}"]);
        Assert.Equal(0, after[$"weir.items.active|{Own}"]);
        Assert.Equal(0, after[$"weir.concurrency.limit|{Own}"]);
        Assert.Equal(8, after[$"weir.items|{Own},weir.outcome=succeeded"]);
        Assert.Equal(2, after[$"weir.items|{Own},weir.outcome=failed"]);
        Assert.Equal(8, _measured.Count(static m => m is ("weir.call.duration", _, Own)));
        Assert.Equal(2, _measured.Count(static m => m is ("weir.call.duration", _, $"{Own},error.type=System.FormatException")));
        Assert.Equal(1, _measured.Count(static m => m is ("weir.run.duration", _, $"{Own},weir.outcome=completed")));
    }

    [Fact(Timeout = 90_000)]
    public async Task Counters_OfRetriesAndPauses_Grow()
    {
        const string Name = "weir.operation.name=counters";
        const string Throttles = $"weir.throttles|weir.operation=SelectParallelStreamAsync,{Name}";
        ManualTimeProvider time = new();
        int calls = 0;
        Task run = new[] { 1 }.ForEachParallelAsync(
            (_, _) => ++calls < 3 ? throw new FormatException() : default,
            new ParallelRunOptions { OperationName = "counters", MaxRetries = 5, IsTransient = static e => e is FormatException, TimeProvider = time });
        await time.DriveAsync(run, TimeSpan.FromSeconds(1));
        await run;
        int taken = 0;
        await foreach (int x in Enumerable.Range(0, 100).SelectParallelStreamAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions { OperationName = "counters", MaxDegreeOfParallelism = 1, ChannelCapacity = 1 }))
        {
            if (++taken == 1)
            {
                // Nobody takes anything, so reading has to pause.
                await Guard.UntilAsync(() => Observe().GetValueOrDefault(Throttles) > 0, "the pause");
            }
        }

        Dictionary<string, double> after = Observe();
        Assert.Equal(2, after[$"weir.retries|weir.operation=ForEachParallelAsync,{Name}"]);
        Assert.InRange(after[Throttles], 1, 100);
        Assert.InRange(after[$"weir.drains|weir.operation=SelectParallelStreamAsync,{Name}"], 1, 100);
    }

    [Fact(Timeout = 90_000)]
    public async Task Items_FailedTimedOutAndCancelled_AreToldApart()
    {
        ManualTimeProvider time = new();
        using CancellationTokenSource caller = new();
        using Gate never = new();
        ConcurrentBag<int> inside = [];
        Dictionary<string, double> after = [];
        ParallelRunOptions options = new()
        {
            OperationName = "four.ends",
            MaxDegreeOfParallelism = 8,
            ErrorMode = ErrorMode.BestEffort,
            PerItemTimeout = TimeSpan.FromSeconds(1),
            TimeProvider = time,
        };
        ManualTimeProvider still = new();

        // Two results, three failures, one item that times out.
        Task<List<int>> first = Enumerable.Range(0, 6).SelectParallelAsync(
            async (x, token) =>
            {
                if (x == 5)
                {
                    inside.Add(x);
                    await never.WaitAsync(token);
                }

                return x < 3 ? throw new FormatException() : x;
            },
            options);

        // An item that has ended is counted; one that is about to end would be out of time as well.
        await Guard.UntilAsync(
            () => !inside.IsEmpty && (after = Observe()).Count > 0 && Ends("SelectParallelAsync") == (2, 3, 0, 0),
            "the item that hangs, and the end of the others");
        await time.DriveAsync(first, TimeSpan.FromSeconds(1));
        Assert.Equal([3, 4], (await first).Order());

        // Two items that the caller cancels.
        inside.Clear();
        Task second = Enumerable.Range(0, 2).ForEachParallelAsync(
            async (x, token) =>
            {
                inside.Add(x);
                await never.WaitAsync(token);
            },
            options with { TimeProvider = still },
            caller.Token);
        await Guard.UntilAsync(() => inside.Count == 2, "the items to cancel");
        await caller.CancelAsync();
        await second.EndsAsync();

        after = Observe();
        Assert.Equal((2, 3, 1, 0), Ends("SelectParallelAsync"));
        Assert.Equal((0, 0, 0, 2), Ends("ForEachParallelAsync"));

        (double, double, double, double) Ends(string operation) =>
            (Of(operation, "succeeded"), Of(operation, "failed"), Of(operation, "timed_out"), Of(operation, "cancelled"));
        double Of(string operation, string outcome) =>
            after.GetValueOrDefault($"weir.items|weir.operation={operation},weir.operation.name=four.ends,weir.outcome={outcome}");
    }

    [Fact(Timeout = 90_000)]
    public async Task NameAndTags_OfARun_AreOnEachMeasurement()
    {
        ParallelRunOptions options = new()
        {
            OperationName = "import",
            Metrics = new() { Tags = [new("tenant", 7), new("source", new Uri("http://localhost/x")), new("none", null)] },
        };
        await new[] { 1, 2 }.ForEachParallelAsync(static (_, _) => default, options);
        await new[] { 1, 2, 3 }.ForEachParallelAsync(static (_, _) => default, options with { Metrics = new() { Tags = [.. options.Metrics.Tags!] } });
        await new[] { 1 }.ForEachParallelAsync(static (_, _) => default, options with { Metrics = new() { Tags = [new("tenant", "7")] } });

        const string Own = "weir.operation=ForEachParallelAsync,weir.operation.name=import,tenant=7";
        const string All = $"{Own},source=http://localhost/x,none=";
        Observe();
        Assert.Equal(5, Last($"weir.items|{All},weir.outcome=succeeded"));
        Assert.Equal(1, Last($"weir.items|{Own},weir.outcome=succeeded"));
        Assert.Equal(2, _measured.Count(static m => m is ("weir.run.duration", _, $"{All},weir.outcome=completed")));
        Assert.Equal(5, _measured.Count(static m => m is ("weir.call.duration", _, All)));

        double Last(string name) => _measured.Last(m => $"{m.Name}|{m.Tags}" == name).Value;
    }

#if NET9_0_OR_GREATER
    // Those of .NET 8 cannot be told their buckets.
    [Fact]
    public async Task Histograms_Buckets_ReachFromAMicrosecondToFiveMinutes()
    {
        await MakeInstrumentsAsync();
        List<Histogram<double>> histograms = [];
        using MeterListener listener = new();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument is Histogram<double> histogram)
            {
                histograms.Add(histogram);
            }
        };
        listener.Start();
        Assert.Equal(3, histograms.Count);
        Assert.All(histograms, static h =>
        {
            IReadOnlyList<double> bounds = h.Advice!.HistogramBucketBoundaries!;
            Assert.Equal((1e-6, 300), (bounds[0], bounds[^1]));
            Assert.Equal(bounds.Order().Distinct(), bounds);
        });
    }
#endif

    [Fact]
    public async Task Instruments_Each_IsInTheDocumentationWithItsUnit()
    {
        await MakeInstrumentsAsync();
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "observability.md"));
        List<Instrument> instruments = [];
        using MeterListener listener = new();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName)
            {
                instruments.Add(instrument);
            }
        };
        listener.Start();
        // Those of policies are there once one was made.
        Assert.Equal(14, instruments.Count(static i => !i.Name.StartsWith("weir.policy.", StringComparison.Ordinal)));
        Assert.All(instruments, instrument => Assert.Contains(
            page.Split('\n'),
            line => line.Contains($"`{instrument.Name}`", StringComparison.Ordinal) && line.Contains($"| {instrument.Unit} |", StringComparison.Ordinal)));
    }

    /// <summary>They are made by the first run of the process that somebody listens to.</summary>
    private static Task MakeInstrumentsAsync() => Enumerable.Range(0, 3).SelectParallelAsync(static (x, _) => new ValueTask<int>(x));

    private Dictionary<string, double> Observe()
    {
        int skip = _measured.Count;
        _listener.RecordObservableInstruments();
        Dictionary<string, double> last = [];

        // Durations of calls under way come in between, any number of them.
        foreach ((string name, double value, string tags) in _measured.Skip(skip))
        {
            last[$"{name}|{tags}"] = value;
        }

        return last;
    }

    private static string Text(ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
        string.Join(",", tags.ToArray().Select(static t => $"{t.Key}={t.Value}"));
}
