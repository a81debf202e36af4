using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>A call that failed.</summary>
/// <param name="Index">The item's index.</param>
/// <param name="Attempt">Which attempt it was, from 1; calls that were only put off do not count.</param>
/// <param name="Error">What it threw.</param>
/// <param name="PreviousDelay">The delay before this attempt; zero for the first.</param>
/// <param name="IsFinal">Whether the item's own time is up, so that no further attempt is possible.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct FailedCall(long Index, int Attempt, Exception Error, TimeSpan PreviousDelay, bool IsFinal);
