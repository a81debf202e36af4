using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>A call that failed.</summary>
/// <param name="Index">The item's index.</param>
/// <param name="Attempt">The number of the attempt, from 1. Calls that were only postponed do not count.</param>
/// <param name="Error">Its exception.</param>
/// <param name="PreviousDelay">The delay before this attempt; zero for the first.</param>
/// <param name="IsFinal">Whether the item's own time limit has passed, so that no further attempt is possible.</param>
/// <param name="Token">The item's token. Once it is cancelled, nothing more is called for the item.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct FailedCall(
    long Index, int Attempt, Exception Error, TimeSpan PreviousDelay, bool IsFinal, CancellationToken Token = default);
