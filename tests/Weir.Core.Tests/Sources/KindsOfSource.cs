using System.Threading.Channels;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Sources;

/// <summary>The same items from each kind of source.</summary>
internal static class KindsOfSource
{
    public static Source<int> Of(string kind, IEnumerable<int> items)
    {
        switch (kind)
        {
            case "array":
                return SourceOf.Enumerable(items.ToArray());
            case "list":
                return SourceOf.Enumerable(items.ToList());
            case "collection":
                return SourceOf.Enumerable(new Queue<int>(items));
            case "lazy":
                return SourceOf.Enumerable(items);
            case "async":
                return SourceOf.AsyncEnumerable(Async(items));
            default:
                Channel<int> channel = Channel.CreateUnbounded<int>();
                foreach (int item in items)
                {
                    channel.Writer.TryWrite(item);
                }

                channel.Writer.Complete();
                return SourceOf.Channel(channel.Reader);
        }
    }

    private static async IAsyncEnumerable<int> Async(IEnumerable<int> items)
    {
        await Task.CompletedTask;
        foreach (int item in items)
        {
            yield return item;
        }
    }
}
