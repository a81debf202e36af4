using System.Runtime.InteropServices;

namespace Weir.RabbitMQ;

/// <summary>The tags of a channel that are settled: RabbitMQ is told of contiguous ones together, and of each other one by itself. Not thread-safe.</summary>
internal sealed class Acknowledgements
{
    private readonly HashSet<ulong> _settled = [];
    private ulong _lowest = 1;

    /// <param name="tags">Tags that are acknowledged now; sorted by this.</param>
    /// <returns>The tag up to which all can be acknowledged together, 0 for none, and how many of the tags that covers.</returns>
    public (ulong UpTo, int Covered) Settle(List<ulong> tags)
    {
        tags.Sort();
        foreach (ulong tag in tags)
        {
            if (tag == _lowest)
            {
                _lowest++;
            }
            else
            {
                _settled.Add(tag);
            }

            while (_settled.Count > 0 && _settled.Remove(_lowest))
            {
                _lowest++;
            }
        }

        // RabbitMQ no longer knows a tag that was acknowledged by itself, so the tag to send is the last of those that it still knows.
        int covered = CollectionsMarshal.AsSpan(tags).BinarySearch(_lowest);
        covered = covered < 0 ? ~covered : covered;
        return (covered == 0 ? 0 : tags[covered - 1], covered);
    }
}
