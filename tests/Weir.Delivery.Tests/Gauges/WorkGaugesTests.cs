using System.Diagnostics.Metrics;
using Weir.Observability;

namespace Weir.Delivery.Tests.Gauges;

/// <summary>Gauges over a source of statistics that a test scripts. Each test has a name of its own, because other gauges are shown meanwhile.</summary>
public sealed class WorkGaugesTests
{
    private const int Limit = 120_000;
    private readonly ManualTimeProvider _clock = new();

    private WorkGaugeOptions Options => new() { TimeProvider = _clock };

    [Fact(Timeout = Limit)]
    public async Task Listener_AfterAReading_SeesAllThatIsKnownAndNothingElse()
    {
        WorkStatistics queue = new() { Waiting = 3, Scheduled = 2, InFlight = 1, DeadLetters = 4, OldestAge = TimeSpan.FromSeconds(1.5) };
        WorkStatistics messages = new() { WaitingMessages = 5, ScheduledMessages = 6, DeadLetters = 7 };
        WorkStatistics stream = new()
        {
            LagBytes = 100, Lag = TimeSpan.FromSeconds(8), RetainedBytes = 200, RemainingBytes = -1, IsActive = false, LogState = WorkLogState.Unreserved,
        };
        await using WorkGauges a = await ReadAsync(new ScriptedStatistics("all-queue", (_, _) => new(queue)));
        await using WorkGauges b = await ReadAsync(new ScriptedStatistics("all-messages", (_, _) => new(messages)));
        await using WorkGauges c = await ReadAsync(new ScriptedStatistics("all-stream", (_, _) => new(stream)));
        Assert.Equal(
            ["dead_letters 4", "in_flight 1", "oldest_age 1.5", "scheduled 2", "waiting 3"], Observe("all-queue", "weir.queue.", "weir.queue.name"));
        Assert.Equal(["dead_letters 7", "scheduled_messages 6", "waiting_messages 5"], Observe("all-messages", "weir.queue.", "weir.queue.name"));
        Assert.Equal(
            ["lag 8", "lag_bytes 100", "log_state 1 unreserved", "readers 0", "remaining -1", "retained 200"],
            Observe("all-stream", "weir.stream.", "weir.stream.name"));
        Assert.Empty(Observe("all-stream", "weir.queue.", "weir.queue.name"));
    }

    [Fact(Timeout = Limit)]
    public async Task Reading_Fails_LeavesNoValuesSaysWhyAndGoesOn()
    {
        List<Exception> faults = [];
        int told = 0;
        var source = new ScriptedStatistics("failing", (n, _) => n == 2 ? throw new TestException("No.") : new(new WorkStatistics { Waiting = n }));
        await using WorkGauges gauges = await ReadAsync(
            source,
            Options with
            {
                OnFault = fault =>
                {
                    faults.Add(fault);
                    throw new InvalidOperationException("A listener that fails.");
                },
                OnReading = _ =>
                {
                    told++;
                    throw new InvalidOperationException("A listener that fails.");
                },
            });
        Assert.Equal(["waiting 1"], Observe("failing", "weir.queue.", "weir.queue.name"));
        await NextAsync(() => gauges.Fault is not null);
        await ToldAsync();
        Assert.Null(gauges.Latest);
        Assert.Empty(Observe("failing", "weir.queue.", "weir.queue.name"));
        Assert.IsType<TestException>(Assert.Single(faults));
        await NextAsync(() => gauges.Latest is not null);
        await ToldAsync();
        Assert.Null(gauges.Fault);
        Assert.Equal((3, 2), (gauges.Latest!.Waiting, told));
    }

    [Fact(Timeout = Limit)]
    public async Task Reading_TakesTooLong_HasFailedAndTheNextOneIsMade()
    {
        var source = new ScriptedStatistics("slow", async (n, token) =>
        {
            if (n == 1)
            {
                await Task.Delay(Timeout.InfiniteTimeSpan, _clock, token);
            }

            return new WorkStatistics { Waiting = n };
        });
        await using var gauges = WorkGauges.Start(source, Options);
        await Guard.UntilAsync(() => source.Readings == 1 && _clock.IsArmedFor(TimeSpan.FromSeconds(10)), "the first reading");
        Assert.Null(gauges.Fault);
        _clock.Advance(TimeSpan.FromSeconds(10));
        await Guard.UntilAsync(() => gauges.Fault is not null, "the end of the reading");
        Assert.Equal("A reading of 'slow' has not ended within 00:00:10.", Assert.IsType<TimeoutException>(gauges.Fault).Message);
        await NextAsync(() => gauges.Latest is not null);
        Assert.Equal(2, gauges.Latest!.Waiting);
    }

    [Fact(Timeout = Limit)]
    public async Task Reading_IgnoresItsToken_NoOtherIsMadeBesideItAndListenersDoNotWait()
    {
        var hang = new TaskCompletionSource<WorkStatistics>(TaskCreationOptions.RunContinuationsAsynchronously);
        var source = new ScriptedStatistics("hanging", (n, _) => n == 1 ? new(hang.Task) : new(new WorkStatistics { Waiting = n }));
        await using var gauges = WorkGauges.Start(source, Options);
        await Guard.UntilAsync(() => source.Readings == 1 && _clock.IsArmedFor(TimeSpan.FromSeconds(20)), "the first reading");
        Assert.Empty(Observe("hanging", "weir.queue.", "weir.queue.name"));
        _clock.Advance(TimeSpan.FromSeconds(20));
        await Guard.UntilAsync(() => gauges.Fault is not null, "the end of the wait");
        Exception first = gauges.Fault!;
        await NextAsync(() => gauges.Fault != first);
        Assert.StartsWith("An earlier reading", gauges.Fault!.Message, StringComparison.Ordinal);
        Assert.Equal(1, source.Readings);
        hang.SetResult(new WorkStatistics { Waiting = 99 });
        Assert.Null(gauges.Latest);

        // The reading that hung ends on a thread of the pool: until then, each next one fails as that one did.
        await Guard.UntilAsync(
            () =>
            {
                if (gauges.Latest is null && _clock.IsArmedFor(_clock.GetElapsedTime(0) + Options.Interval))
                {
                    _clock.Advance(Options.Interval);
                }

                return gauges.Latest is not null;
            },
            "the next reading");
        Assert.Equal((2, 1), (gauges.Latest!.Waiting, source.MostAtOnce));
    }

    [Fact(Timeout = Limit)]
    public async Task Values_AreOld_AreNotShown()
    {
        var source = new ScriptedStatistics(
            "old", (n, _) => n == 1 ? new(new WorkStatistics { Waiting = n }) : new(new TaskCompletionSource<WorkStatistics>().Task));
        await using WorkGauges gauges = await ReadAsync(source);
        await NextAsync(() => source.Readings == 2);
        Assert.NotNull(gauges.Latest);
        await Guard.UntilAsync(() => _clock.IsArmedFor(TimeSpan.FromSeconds(35)), "the limit");

        // As if the process had slept: the clock is far on, and no timer has fired yet.
        Assert.Equal(1, LatestAt(gauges, TimeSpan.FromSeconds(35) - TimeSpan.FromTicks(1))?.Waiting);
        _clock.Advance(TimeSpan.FromSeconds(21));
        Assert.Null(gauges.Latest);
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_DuringAReading_CancelsItAndRemovesTheGauges()
    {
        var cancelled = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var source = new ScriptedStatistics("disposed", async (n, token) =>
        {
            if (n == 2)
            {
                await using CancellationTokenRegistration seen = token.Register(cancelled.SetResult);
                await Task.Delay(Timeout.InfiniteTimeSpan, _clock, token);
            }

            return new WorkStatistics { Waiting = n };
        });
        List<Exception> faults = [];
        WorkGauges gauges = await ReadAsync(source, Options with { OnFault = faults.Add });
        await NextAsync(() => source.Readings == 2);
        await gauges.DisposeAsync().WithinAsync("disposing");
        await cancelled.Task.WithinAsync("the reading's token");
        await gauges.DisposeAsync().WithinAsync("disposing again");
        Assert.Empty(Observe("disposed", "weir.queue.", "weir.queue.name"));
        Assert.Equal((null, null), (gauges.Latest, gauges.Fault));
        await Guard.UntilAsync(() => _clock.ArmedTimers == 0, "the end of the timers");
        Assert.Empty(faults);
    }

    [Theory]
    [InlineData("00:00:00.05", "00:00:10", "Interval must be from 100 milliseconds to 1 day.")]
    [InlineData("2.00:00:00", "00:00:10", "Interval must be from 100 milliseconds to 1 day.")]
    [InlineData("00:00:10", "00:00:00", "ReadingTimeout must be from 100 milliseconds to 1 hour.")]
    [InlineData("00:00:10", "01:00:01", "ReadingTimeout must be from 100 milliseconds to 1 hour.")]
    public void Start_OptionOutOfRange_SaysSo(string interval, string timeout, string message)
    {
        var source = new ScriptedStatistics("never", static (_, _) => new(new WorkStatistics()));
        WorkGaugeOptions options = new()
        {
            Interval = TimeSpan.Parse(interval, System.Globalization.CultureInfo.InvariantCulture),
            ReadingTimeout = TimeSpan.Parse(timeout, System.Globalization.CultureInfo.InvariantCulture),
        };
        Assert.StartsWith(message, Assert.Throws<ArgumentOutOfRangeException>(() => WorkGauges.Start(source, options)).Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>(() => WorkGauges.Start(source, new WorkGaugeOptions { Name = "" }));
        Assert.Equal(0, source.Readings);
    }

    [Fact(Timeout = Limit)]
    public async Task MemoryQueue_LifeOfItems_IsCounted()
    {
        MemoryWorkQueueOptions two = new() { MaxItemsPerBatch = 2, TimeProvider = _clock };
        await using var queue = new MemoryWorkQueue<string>("q", WorkSerializer.Text, two);
        Assert.Equal((0, 0, 0, TimeSpan.Zero, 0), await CountAsync(queue));
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync(WorkItem.CreateMany(["a", "b", "c"]), null, CancellationToken.None);
        _clock.Advance(TimeSpan.FromSeconds(5));
        await sink.WriteAsync(WorkItem.CreateMany(["d"]), null, CancellationToken.None);
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal((4, 0, 0, TimeSpan.FromSeconds(6), 0), await CountAsync(queue));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> first = (await source.ReadAsync(CancellationToken.None))!;
        WorkBatch<string> second = (await source.ReadAsync(CancellationToken.None))!;
        Assert.Equal((0, 0, 4, TimeSpan.Zero, 0), await CountAsync(queue));

        // What is returned has waited since it was published; what is redelivered waits anew, from the end of its delay.
        await source.ReturnAsync([second], CancellationToken.None);
        Assert.Equal((2, 0, 2, TimeSpan.FromSeconds(6), 0), await CountAsync(queue));
        await source.Redelivery!.RedeliverAsync(first, [first.Items[0]], TimeSpan.FromSeconds(10), CancellationToken.None);
        DeadLetter letter = new() { Id = "x", Source = "q", Reason = DeadLetterReason.Failed, Time = _clock.GetUtcNow(), Payload = default };
        await queue.DeadLetters.AddAsync([letter]);
        await source.AcknowledgeAsync([first], CancellationToken.None);
        Assert.Equal((2, 1, 0, TimeSpan.FromSeconds(6), 1), await CountAsync(queue));
        second = (await source.ReadAsync(CancellationToken.None))!;
        await source.AcknowledgeAsync([second], CancellationToken.None);
        _clock.Advance(TimeSpan.FromSeconds(10));
        _clock.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal((1, 0, 0, TimeSpan.FromSeconds(2), 1), await CountAsync(queue));
    }

    [Fact(Timeout = Limit)]
    public async Task Queue_OfAnEngineThatCountsNothing_KnowsNothing()
    {
        IWorkQueue<string> queue = new SilentQueue();
        Assert.Equal(new WorkStatistics(), await queue.GetStatisticsAsync());
        Assert.Equal("weir", queue.MessagingSystem);
    }

    private static async Task<(long?, long?, long?, TimeSpan?, long?)> CountAsync(MemoryWorkQueue<string> queue)
    {
        WorkStatistics now = await queue.GetStatisticsAsync();
        return (now.Waiting, now.Scheduled, now.InFlight, now.OldestAge, now.DeadLetters);
    }

    private WorkStatistics? LatestAt(WorkGauges gauges, TimeSpan moment)
    {
        _clock.Advance(moment - _clock.GetElapsedTime(0));
        return gauges.Latest;
    }

    private async Task<WorkGauges> ReadAsync(ScriptedStatistics source, WorkGaugeOptions? options = null)
    {
        var gauges = WorkGauges.Start(source, options ?? Options);
        await Guard.UntilAsync(() => gauges.Latest is not null, "the first reading");
        return gauges;
    }

    private async Task NextAsync(Func<bool> isThere)
    {
        await Guard.UntilAsync(() => isThere() || _clock.IsArmedFor(_clock.GetElapsedTime(0) + Options.Interval), "the wait for the next reading");
        _clock.Advance(Options.Interval);
        await Guard.UntilAsync(isThere, "the next reading");
    }

    // A reading is shown before its listener is told, and is over when the wait for the next one has begun.
    private Task ToldAsync() => Guard.UntilAsync(() => _clock.IsArmedFor(_clock.GetElapsedTime(0) + Options.Interval), "the end of the reading");

    private static string[] Observe(string name, string prefix, string tag)
    {
        List<string> all = [];
        using MeterListener listener = new()
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name.StartsWith(prefix, StringComparison.Ordinal))
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Keep(instrument, value, tags));
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => Keep(instrument, value, tags));
        listener.Start();
        listener.RecordObservableInstruments();
        return [.. all.Order(StringComparer.Ordinal)];

        void Keep(Instrument instrument, double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
        {
            Dictionary<string, object?> given = new(tags.ToArray());
            if (name.Equals(given.GetValueOrDefault(tag)))
            {
                Assert.Equal("weir", given["messaging.system"]);
                string state = given.GetValueOrDefault("weir.stream.log_state") is string text ? $" {text}" : "";
                all.Add(string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{instrument.Name[prefix.Length..]} {value}{state}"));
            }
        }
    }

    private sealed class SilentQueue : IWorkQueue<string>
    {
        public string Name => "silent";

        public IDeadLetters DeadLetters { get; } = new MemoryDeadLetters();

        public Task SetupAsync(CancellationToken cancellationToken = default) => Task.CompletedTask;

        public ValueTask<IWorkSink<string>> OpenSinkAsync(CancellationToken cancellationToken = default) => throw new NotSupportedException();

        public ValueTask<IWorkSource<string>> OpenSourceAsync(CancellationToken cancellationToken = default) => throw new NotSupportedException();

        public ValueTask DisposeAsync() => default;
    }
}
