namespace Weir.Tests.Runtimes;

/// <summary>What an item of a queue does.</summary>
internal enum QueueDeed
{
    Nothing,
    Computes,
    Blocks,
    Suspends,
    Throws,
    ThrowsLater,
}
