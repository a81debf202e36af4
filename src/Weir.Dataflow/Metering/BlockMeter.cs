using System.Diagnostics.Metrics;
using Weir.Core.Metering;

namespace Weir.Dataflow.Metering;

/// <summary>The instruments of blocks. All but the durations read the blocks' own counts when a listener asks.</summary>
internal static class BlockMeter
{
    private const string Queue = "weir.block.queue";

    private static readonly Meter Meter = new(DiagnosticNames.Library, typeof(BlockMeter).Assembly.GetName().Version?.ToString(3));

    // Null if a listener threw when it was notified of the instrument.
    private static readonly Instrument?[] Instruments =
    [
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.blocks.active", static () => Measure(static s => s.Blocks), "{block}", "Blocks that have had a message and are not complete.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.block.received", static () => Measure(static s => s.Received), "{message}", "Messages that blocks have taken.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter(
            "weir.block.sent", static () => Measure(static s => s.Sent), "{message}", "Results, groups and messages that have left blocks.")),
        SafeCall.Try(static () => Meter.CreateObservableCounter("weir.block.messages", MeasureMessages, "{message}", "What became of the messages of blocks.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.block.in_flight", static () => Measure(static s => s.InFlight), "{message}", "Messages inside their call.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.block.queued", MeasureQueued, "{message}", "Messages that wait for their call or group, and results that nobody has taken.")),
    ];

    private static readonly Histogram<double>? CallDuration =
        SafeCall.Try(static () => Durations.Create(Meter, "weir.block.duration", "The duration of the calls for single messages."));

    public static bool HasListeners => MeasuresCalls || Array.Exists(Instruments, static instrument => instrument is { Enabled: true });

    /// <summary>Whether somebody wants the duration of each call.</summary>
    public static bool MeasuresCalls => CallDuration is { Enabled: true };

    public static void Call(BlockLabel label, TimeSpan elapsed, Exception? error) => SafeCall.Invoke(
        static call => CallDuration?.Record(call.Seconds, call.Label.With(call.Error is null ? null : DiagnosticNames.ErrorType, call.Error)),
        (Label: label, Seconds: elapsed.TotalSeconds, Error: error?.GetType().FullName));

    private static List<Measurement<long>> MeasureMessages()
    {
        List<Measurement<long>> measurements = [];
        foreach ((BlockLabel label, BlockSample sum) in BlockTotals.Sum())
        {
            long failed = 0;
            foreach ((string error, long count) in sum.Failed ?? [])
            {
                failed += count;
                measurements.Add(new(count, label.WithOutcome("failed", error)));
            }

            measurements.Add(new(Math.Max(0, sum.Processed - failed - sum.Cancelled), label.WithOutcome("succeeded", null)));
            measurements.Add(new(sum.Cancelled, label.WithOutcome("cancelled", null)));
            measurements.Add(new(sum.Discarded, label.WithOutcome("discarded", null)));
        }

        return measurements;
    }

    private static List<Measurement<long>> MeasureQueued() =>
    [
        .. Measure(static s => s.Queued, Queue, "input"),
        .. Measure(static s => s.Output, Queue, "output"),
    ];

    private static List<Measurement<long>> Measure(Func<BlockSample, long> read, string? key = null, string? value = null) =>
        [.. BlockTotals.Sum().Select(sum => new Measurement<long>(read(sum.Value), sum.Key.With(key, value)))];
}
