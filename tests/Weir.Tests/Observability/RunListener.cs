using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using Weir.Observability;

namespace Weir.Tests.Observability;

/// <summary>Listens to the runs of one name, to all instruments but the one that wraps the calls.</summary>
internal sealed class RunListener : IDisposable
{
    private static readonly string[] Parts = ["weir.outcome", "weir.wait.for", "weir.circuit_breaker.state"];

    private readonly MeterListener _listener = new();
    private readonly ConcurrentDictionary<string, long> _values = new();
    private readonly ConcurrentQueue<(string Name, double Seconds)> _durations = new();

    public RunListener(string name)
    {
        _listener.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name != "weir.call.duration")
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) =>
        {
            if (name.Equals(Of("weir.operation.name", tags)))
            {
                _values[NameOf(instrument, tags)] = value;
            }
        });
        _listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) =>
        {
            if (name.Equals(Of("weir.operation.name", tags)))
            {
                _durations.Enqueue((NameOf(instrument, tags), value));
            }
        });
        _listener.Start();
    }

    /// <summary>How many runs have ended.</summary>
    public int Durations => _durations.Count(static d => d.Name.StartsWith("weir.run.duration", StringComparison.Ordinal));

    /// <summary>The durations of an instrument and its part, such as an outcome.</summary>
    public IReadOnlyList<double> DurationsOf(string name) => [.. _durations.Where(d => d.Name == name).Select(static d => d.Seconds)];

    /// <summary>What the instruments show now, by name and part.</summary>
    public Dictionary<string, long> Observe()
    {
        _values.Clear();
        _listener.RecordObservableInstruments();
        return new(_values);
    }

    public void Dispose() => _listener.Dispose();

    private static string NameOf(Instrument instrument, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        string name = instrument.Name;
        foreach (string part in Parts)
        {
            name += Of(part, tags) is { } value ? $" {value}" : "";
        }

        return name;
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
