using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// Measures the calls that a worker makes one after the other. Calls of a microsecond or less are measured several at a time, so that the clock costs
/// them nothing; one sample then represents all of them, with their mean.
/// </summary>
/// <remarks>
/// It is a mutable part of the call struct, which a worker copies for each chunk, so it lives as long as the chunk. Calls that are measured but not reported
/// at its end, which are fewer than half of the chunk and quick, are left out.
/// </remarks>
internal struct AdaptiveMeter(AdaptiveController controller)
{
    private const int MostInARow = 128;

    private long _started;
    private int _done;
    private int _inARow;

    public readonly AdaptiveController Controller => controller;

    /// <summary>A call begins.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin()
    {
        if (_started == 0)
        {
            _started = controller.Timestamp();
        }
    }

    /// <summary>The call has returned its result synchronously.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Completed(CancellationToken cancellationToken)
    {
        if (++_done >= _inARow)
        {
            Report(cancellationToken);
        }
    }

    /// <summary>The call has returned, but has not succeeded yet.</summary>
    /// <returns>When it started.</returns>
    public long Suspended(CancellationToken cancellationToken)
    {
        if (_done > 0)
        {
            // After quick calls, which did not read the clock themselves: the time until here counts as theirs.
            Report(cancellationToken);
        }

        long started = _started;
        _started = 0;
        _inARow = 0;
        return started;
    }

    /// <summary>The call has thrown.</summary>
    public void Failed(CancellationToken cancellationToken) => controller.Ended(Suspended(cancellationToken), succeeded: false, cancellationToken);

    private void Report(CancellationToken cancellationToken)
    {
        long now = controller.Timestamp();
        controller.Ended(_started, now, _done, cancellationToken);
        _inARow = now - _started <= _done * controller.Quick ? Math.Clamp(2 * _inARow, 1, MostInARow) : 1;
        _started = now;
        _done = 0;
    }
}
