namespace Weir.Lab.Workers;

/// <summary>The histograms that a worker records in: its own, or, where there are very many workers, one that it shares with some of them.</summary>
internal readonly struct LatencyRecorder(LatencyHistogram service, LatencyHistogram? response, bool isShared)
{
    /// <summary>A batch took so long, in which one call was timed that took less.</summary>
    public void NoteMax(long nanoseconds) => service.NoteMax(nanoseconds);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Record(long serviceNanoseconds, long intended, long after)
    {
        if (isShared)
        {
            service.RecordShared(serviceNanoseconds);
            response?.RecordShared(Clock.Nanoseconds(intended, after));
            return;
        }

        service.Record(serviceNanoseconds);
        response?.Record(Clock.Nanoseconds(intended, after));
    }
}
