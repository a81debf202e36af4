namespace Weir.Lab.Results;

/// <summary>A type whose objects the runtime's samples of allocations met.</summary>
/// <param name="Type">Its full name.</param>
/// <param name="Ticks">In how many samples.</param>
/// <param name="Bytes">
/// How many bytes were allocated from one sample to the next, of whatever type: with many samples an estimate of the bytes of this type.
/// </param>
public sealed record ProfileAllocation(string Type, int Ticks, long Bytes);
