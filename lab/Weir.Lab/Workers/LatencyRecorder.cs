namespace Weir.Lab.Workers;

/// <summary>The histograms that a worker records in: its own, or, where there are very many workers, some that it shares with some of them.</summary>
/// <param name="service">How long operations take.</param>
/// <param name="response">With a rate, how long after they should have begun they end.</param>
/// <param name="batches">How long whole batches take; <see langword="null"/> where each operation is timed.</param>
/// <param name="isShared">Whether other workers record in them too.</param>
internal readonly struct LatencyRecorder(LatencyHistogram service, LatencyHistogram? response, LatencyHistogram? batches, bool isShared)
{
    /// <summary>A batch took so long, in which one call was timed that took less.</summary>
    public void NoteMax(long nanoseconds) => service.NoteMax(nanoseconds);

    /// <summary>A whole batch of operations took so long together.</summary>
    public void RecordBatch(long nanoseconds)
    {
        if (isShared)
        {
            batches?.RecordShared(nanoseconds);
            return;
        }

        batches?.Record(nanoseconds);
    }

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
