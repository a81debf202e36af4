using System.Diagnostics;
using System.Diagnostics.Metrics;
using Weir.Observability;
using Weir.Resilience;
using Weir.Tests.Operators.Budgets;

namespace Weir.Tests.Observability;

/// <summary>Whoever watches a run may throw whenever it is called, and nothing comes of it. Alone, because listeners are the process's.</summary>
[Collection(nameof(Alone))]
public class ListenerFaultTests
{
    public static TheoryData<string> Faults() => ["sample", "started", "stopped", "current", "measurement", "all"];

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Faults))]
    public async Task Listener_ThatThrows_ChangesNoOutcome(string fault)
    {
        using IDisposable listeners = Listen(fault);
        int[] items = [.. Enumerable.Range(0, 50)];
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 4,
            MaxRetries = 1,
            BaseDelay = TimeSpan.FromMilliseconds(1),
            IsTransient = static _ => true,
            OnFallback = Fallback.Of(static (_, _) => -1),
            ErrorMode = ErrorMode.CollectAndContinue,
            OnStartItemAsync = static _ => default,
            CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 1_000 },
        };
        int[] expected = [.. items.Select(static x => x % 3 == 0 ? -1 : x)];

        Assert.Equal(expected, await items.SelectParallelAsync(CallAsync, options));
        Assert.Equal(expected, (await items.SelectParallelOutcomesAsync(CallAsync, options)).Select(static outcome => outcome.Value));
        Assert.Equal(expected.Order(), (await items.SelectParallelStreamAsync(CallAsync, options).ToListAsync()).Order());
        ItemsFailedException failed = await Assert.ThrowsAsync<ItemsFailedException>(
            () => items.ForEachParallelAsync(async (x, token) => await CallAsync(x, token), options with { OnFallback = null, MaxRetries = 0 }));
        Assert.Equal(17, failed.Failures.Count);
    }

    private static async ValueTask<int> CallAsync(int item, CancellationToken cancellationToken)
    {
        if (item % 2 == 0)
        {
            await Task.Yield();
        }

        return item % 3 == 0 ? throw new FormatException("no") : item;
    }

    private static Listeners Listen(string fault) => new(fault);

    private sealed class Listeners : IDisposable
    {
        private readonly string _fault;
        private readonly ActivityListener _spans;
        private readonly MeterListener _meter;

        public Listeners(string fault)
        {
            _fault = fault;
            _spans = new ActivityListener
            {
                ShouldListenTo = static source => source.Name == WeirDiagnostics.ActivitySourceName,
                Sample = (ref ActivityCreationOptions<ActivityContext> _) =>
                {
                    Throw("sample");
                    return ActivitySamplingResult.AllDataAndRecorded;
                },
                ActivityStarted = _ => Throw("started"),
                ActivityStopped = _ => Throw("stopped"),
            };
            ActivitySource.AddActivityListener(_spans);
            _meter = new MeterListener
            {
                InstrumentPublished = static (instrument, listener) =>
                {
                    if (instrument.Meter.Name == WeirDiagnostics.MeterName)
                    {
                        listener.EnableMeasurementEvents(instrument);
                    }
                },
            };
            _meter.SetMeasurementEventCallback<double>((_, _, _, _) => Throw("measurement"));
            _meter.Start();
            Activity.CurrentChanged += OnCurrentChanged;
        }

        public void Dispose()
        {
            Activity.CurrentChanged -= OnCurrentChanged;
            _meter.Dispose();
            _spans.Dispose();
        }

        private void OnCurrentChanged(object? sender, ActivityChangedEventArgs e)
        {
            if (e.Current?.Source.Name == WeirDiagnostics.ActivitySourceName || e.Previous?.Source.Name == WeirDiagnostics.ActivitySourceName)
            {
                Throw("current");
            }
        }

        private void Throw(string at)
        {
            if (_fault == at || (_fault == "all" && at != "sample"))
            {
                throw new InvalidTimeZoneException(at);
            }
        }
    }
}
