namespace Weir.Lab.Workers;

/// <summary>What lies between the two readings of a worker that is alone.</summary>
/// <param name="Elapsed">How long its operations took.</param>
/// <param name="Cpu">How much processor time the process used.</param>
/// <param name="Resources">What else it used. The allocations and the compiled methods are those of the operations, exactly.</param>
internal sealed record SoloUse(TimeSpan Elapsed, TimeSpan Cpu, ResourceUse Resources)
{
    public static SoloUse Between(WindowState window, in SoloReading before, in SoloReading after) => new(
        window.Between(before.Timestamp, after.Timestamp),
        after.Cpu - before.Cpu,
        (after.Sample - before.Sample) with
        {
            AllocatedBytes = after.Bytes - before.Bytes, CompiledMethods = after.CompiledMethods - before.CompiledMethods,
        });
}
