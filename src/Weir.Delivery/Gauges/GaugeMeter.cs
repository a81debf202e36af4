using System.Diagnostics.Metrics;
using Weir.Core.Metering;
using Weir.Observability;

namespace Weir.Delivery;

/// <summary>The instruments over what the gauges of this process have read. A value that is not known has no measurement.</summary>
internal static class GaugeMeter
{
    private static readonly Lock Lock = new();
    private static readonly List<WorkGauges> Shown = [];
    private static readonly Meter Meter = new(WeirDiagnostics.MeterName, typeof(GaugeMeter).Assembly.GetName().Version?.ToString(3));

    // Null if a listener threw when it was notified of the instrument.
    private static readonly Instrument?[] Instruments =
    [
        Queue("waiting", "{item}", "Items of a queue that could be taken and that nobody has.", static s => s.Waiting),
        Queue("scheduled", "{item}", "Items of a queue that wait for their time.", static s => s.Scheduled),
        Queue("in_flight", "{item}", "Items of a queue that consumers have and did not acknowledge, in all processes.", static s => s.InFlight),
        Queue("dead_letters", "{item}", "Dead letters of a queue.", static s => s.DeadLetters),
        Queue("waiting_messages", "{message}", "Messages of a queue that could be taken and that nobody has.", static s => s.WaitingMessages),
        Queue("scheduled_messages", "{message}", "Messages of a queue that wait for their time.", static s => s.ScheduledMessages),
        Seconds("weir.queue.oldest_age", "weir.queue.name", "For how long the next item of a queue could have been taken.", static s => s.OldestAge),
        Stream("lag_bytes", "By", "How much of the log lies behind what a change stream has processed.", static s => s.LagBytes),
        Stream("retained", "By", "How much of its log the server keeps for a change stream.", static s => s.RetainedBytes),
        Stream("remaining", "By", "How much log may be written until a change stream can be lost.", static s => s.RemainingBytes),
        Stream("readers", "{reader}", "Whether somebody reads a change stream: 1 or 0.", static s => s.IsActive is { } active ? active ? 1 : 0 : null),
        Seconds("weir.stream.lag", "weir.stream.name", "For how long at least a change stream has been behind.", static s => s.Lag),
        SafeCall.Try(static () => Meter.CreateObservableGauge(
            "weir.stream.log_state", MeasureStates, "{stream}", "1 with the state of the log that a change stream needs.")),
    ];

    public static void Add(WorkGauges gauges)
    {
        lock (Lock)
        {
            // The first use of this class creates the instruments.
            _ = Instruments;
            Shown.Add(gauges);
        }
    }

    public static void Remove(WorkGauges gauges)
    {
        lock (Lock)
        {
            Shown.Remove(gauges);
        }
    }

    private static ObservableGauge<long>? Queue(string name, string unit, string description, Func<WorkStatistics, long?> read) =>
        SafeCall.Try(() => Meter.CreateObservableGauge(
            $"weir.queue.{name}", () => Measure("weir.queue.name", read, static value => value), unit, description));

    private static ObservableGauge<long>? Stream(string name, string unit, string description, Func<WorkStatistics, long?> read) =>
        SafeCall.Try(() => Meter.CreateObservableGauge(
            $"weir.stream.{name}", () => Measure("weir.stream.name", read, static value => value), unit, description));

    private static ObservableGauge<double>? Seconds(string name, string tag, string description, Func<WorkStatistics, TimeSpan?> read) =>
        SafeCall.Try(() => Meter.CreateObservableGauge(name, () => Measure(tag, read, static time => time.TotalSeconds), "s", description));

    private static List<Measurement<TValue>> Measure<TRead, TValue>(string tag, Func<WorkStatistics, TRead?> read, Func<TRead, TValue> convert)
        where TRead : struct
        where TValue : struct
    {
        List<Measurement<TValue>> all = [];
        foreach (WorkGauges gauges in All())
        {
            if (gauges.Latest is { } latest && read(latest) is { } value)
            {
                all.Add(new Measurement<TValue>(convert(value), Tags(tag, gauges)));
            }
        }

        return all;
    }

    private static List<Measurement<long>> MeasureStates()
    {
        List<Measurement<long>> all = [];
        foreach (WorkGauges gauges in All())
        {
            if (gauges.Latest?.LogState is { } state)
            {
                string text = state switch
                {
                    WorkLogState.Reserved => "reserved",
                    WorkLogState.Extended => "extended",
                    WorkLogState.Unreserved => "unreserved",
                    _ => "lost",
                };
                all.Add(new Measurement<long>(1, [.. Tags("weir.stream.name", gauges), new("weir.stream.log_state", text)]));
            }
        }

        return all;
    }

    private static KeyValuePair<string, object?>[] Tags(string tag, WorkGauges gauges) =>
        [new(tag, gauges.Name), new("messaging.system", gauges.MessagingSystem)];

    private static WorkGauges[] All()
    {
        lock (Lock)
        {
            return [.. Shown];
        }
    }
}
