using System.Runtime.InteropServices;
using Weir.Core.Sources;

namespace Weir.Core.Sinks;

/// <summary>The end of a run whose results go to a list: closes the gaps of failed items and completes the caller's task.</summary>
internal class ListCompletion<TResult> : TaskCompletionSource<List<TResult>>
{
    private List<long>? _skipped;

    public ListCompletion(int count)
    {
        List = new List<TResult>(count);
        CollectionsMarshal.SetCount(List, count);
    }

    /// <summary>The results; after the completion, those that the caller gets.</summary>
    public List<TResult> List;

    /// <summary>Records that an item has no result.</summary>
    public void Skip(long index)
    {
        List<long>? skipped = Volatile.Read(ref _skipped);
        if (skipped is null)
        {
            List<long> made = [];
            skipped = Interlocked.CompareExchange(ref _skipped, made, null) ?? made;
        }

        lock (skipped)
        {
            skipped.Add(index);
        }
    }

    /// <summary>Completes the caller's task.</summary>
    /// <param name="end">The end of the run.</param>
    /// <param name="segments">The results, if the count was not known. They are joined only if they are returned.</param>
    public void Complete(RunEnd end, Segments<TResult>? segments = null)
    {
        if (end.HasResults)
        {
            Gather(end, segments);
            if (end.Result == RunResult.FailedInPart)
            {
                TrySetException(new ItemsFailedException<TResult>(end.Failures!.Collected!, List));
            }
            else
            {
                TrySetResult(List);
            }
        }
        else
        {
            CompleteWithoutResults(end, segments);
        }
    }

    /// <summary>Completes the caller's task where the caller gets no result.</summary>
    protected virtual void CompleteWithoutResults(RunEnd end, Segments<TResult>? segments)
    {
        if (end.Result == RunResult.Cancelled)
        {
            TrySetCanceled(end.Cancelled!.Value);
        }
        else
        {
            TrySetException(end.Failures!.Single!);
        }
    }

    /// <summary>Makes the list one of the results, and of nothing else.</summary>
    protected void Gather(RunEnd end, Segments<TResult>? segments)
    {
        List = segments?.ToList(end.Claimed) ?? List;
        if (_skipped is not null || end.Claimed != List.Count || !ReferenceEquals(end.LeftOver, Source.NothingLeft))
        {
            CloseGaps(end);
        }
    }

    private void CloseGaps(RunEnd end)
    {
        List<long> gaps = _skipped ?? [];
        foreach ((long first, int count) in end.LeftOver)
        {
            for (int i = 0; i < count; i++)
            {
                gaps.Add(first + i);
            }
        }

        if (gaps.Count > 0)
        {
            gaps.Sort();
            Span<TResult> slots = CollectionsMarshal.AsSpan(List);
            int to = (int)Math.Min(gaps[0], end.Claimed);
            int gap = 0;
            for (int from = to; from < end.Claimed; from++)
            {
                if (gap < gaps.Count && gaps[gap] == from)
                {
                    gap++;
                    continue;
                }

                slots[to++] = slots[from];
            }

            List.RemoveRange(to, List.Count - to);
        }
        else if (end.Claimed < List.Count)
        {
            List.RemoveRange((int)end.Claimed, (int)(List.Count - end.Claimed));
        }
    }
}
