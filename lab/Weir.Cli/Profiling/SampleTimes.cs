using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

namespace Weir.Cli.Profiling;

/// <summary>
/// For how much time a sample stands. The runtime stops all threads for a sample, so compiled code ran only from the end of the last stop on; code of the
/// system or of a native library went on meanwhile, and stands for all the time since the last sample.
/// </summary>
internal sealed class SampleTimes
{
    // What a sample stands for while nothing is known of the one before it.
    private const double Usual = 1e6;

    private double? _stopped;
    private double? _lastStopped;
    private double? _went;
    private bool _isForSamples;

    /// <summary>The number of the stop that is under way, from 1.</summary>
    public int Stop { get; private set; }

    /// <summary>Follows the events.</summary>
    public SampleTimes(TraceLogEventSource source)
    {
        // Collections stop threads too.
        source.Clr.GCSuspendEEStart += e => _isForSamples = e.Reason == GCSuspendEEReason.SuspendOther;
        source.Clr.GCSuspendEEStop += e =>
        {
            if (_isForSamples)
            {
                Stop++;
                _lastStopped = _stopped;
                _stopped = Nanoseconds(e);
            }
        };
        source.Clr.GCRestartEEStop += e => _went = _isForSamples ? Nanoseconds(e) : _went;
    }

    /// <summary>In nanoseconds, for a sample of the stop that is under way.</summary>
    /// <param name="isManaged">Whether the thread was in compiled code.</param>
    public double Of(bool isManaged) => (isManaged ? _went : _lastStopped) is { } from && _stopped > from ? _stopped.Value - from : Usual;

    private static double Nanoseconds(TraceEvent e) => e.TimeStampRelativeMSec * 1e6;
}
