namespace Weir.Lab.Workers;

/// <summary>
/// What a worker that is alone in a window of whole operations reads itself, right before its first operation and right after its last. So nothing of the lab
/// lies between: not its threads, its start barrier or its loops, which are there before and go after. The time is the innermost, and the bytes are exact.
/// </summary>
internal readonly record struct SoloReading(ResourceUse Sample, long CompiledMethods, long Bytes, TimeSpan Cpu, long Timestamp)
{
    public static SoloReading Before(WindowState window)
    {
        ResourceUse sample = ResourceUse.Take();
        long compiled = System.Runtime.JitInfo.GetCompiledMethodCount();
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        return new SoloReading(sample, compiled, bytes, cpu, window.Now());
    }

    public static SoloReading After(WindowState window)
    {
        long timestamp = window.Now();
        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        long compiled = System.Runtime.JitInfo.GetCompiledMethodCount();
        return new SoloReading(ResourceUse.Take(), compiled, bytes, cpu, timestamp);
    }
}
