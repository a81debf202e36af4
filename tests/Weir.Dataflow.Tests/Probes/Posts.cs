namespace Weir.Dataflow.Tests.Probes;

/// <summary>Gives a block its messages.</summary>
public static class Posts
{
    /// <summary>Posts one message after the other, each of which the block has to take.</summary>
    public static void PostAll<T>(this ITargetBlock<T> block, params IEnumerable<T> items) => Assert.All(items, item => Assert.True(block.Post(item)));
}
