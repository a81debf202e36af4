using System.Collections.Concurrent;
using System.Diagnostics.Metrics;

namespace Weir.Dataflow.Tests.Probes;

/// <summary>Listens to the blocks of one name: to the instruments, and if wanted to durations.</summary>
internal sealed class BlockListener : IDisposable
{
    private readonly MeterListener _meter = new();
    private readonly ConcurrentDictionary<string, long> _values = new();
    private readonly ConcurrentQueue<string> _durations = new();

    public BlockListener(string name, bool durations = false, Action? onMeasured = null)
    {
        _meter.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter.Name == "Weir" && (durations || instrument.Name != "weir.block.duration"))
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _meter.SetMeasurementEventCallback<long>((instrument, value, tags, _) =>
        {
            if (name.Equals(Of("weir.block.name", tags)))
            {
                _values[$"{instrument.Name} {Of("weir.block.queue", tags)}{Of("weir.outcome", tags)} {Of("error.type", tags)}".Trim()] = value;
            }
        });
        _meter.SetMeasurementEventCallback<double>((instrument, _, tags, _) =>
        {
            onMeasured?.Invoke();
            if (name.Equals(Of("weir.block.name", tags)))
            {
                _durations.Enqueue($"{instrument.Name} {Of("error.type", tags)}".Trim());
            }
        });
        _meter.Start();

        // The first listener of a process: the instruments are created with the next block, or some seconds later.
        _ = new BufferBlock<int>();
    }

    /// <summary>The durations, by name and error.</summary>
    public IReadOnlyList<string> Durations => [.. _durations];

    /// <summary>What an instrument shows now; null if it shows nothing of this name.</summary>
    public long? this[string instrument] => ReadAll().TryGetValue(instrument, out long value) ? value : null;

    /// <summary>What all instruments show now.</summary>
    public IReadOnlyDictionary<string, long> ReadAll()
    {
        _values.Clear();
        _meter.RecordObservableInstruments();
        return _values;
    }

    public void Dispose()
    {
        _meter.Dispose();
    }

    private static object? Of(string key, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        foreach (KeyValuePair<string, object?> tag in tags)
        {
            if (tag.Key == key)
            {
                return tag.Value;
            }
        }

        return null;
    }
}
