namespace Weir.Lab.Workers;

/// <summary>A workload whose code can be loaded several times, so that it lies at several places in memory.</summary>
/// <remarks>
/// Where the code of some nanoseconds lies, to 64 bytes and in the processor's table of branches, makes it up to a fifth faster or slower, and that stays as it
/// is as long as the process lives. Rounds that take turns over copies have some of each.
/// </remarks>
internal interface ICopiedWorkload : IWorkload
{
    /// <summary>Loads its code again, and makes its objects from it. From then on, each round runs the next copy.</summary>
    /// <param name="copies">How many there are to be in all. It may make fewer.</param>
    /// <returns>A task that ends when they are there.</returns>
    ValueTask CopyAsync(int copies);
}
