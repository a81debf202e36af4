namespace Weir.Lab.Suites.Workloads;

/// <summary>Delegates of which some calls last and the others do nothing.</summary>
internal sealed class LastingCalls(CallKind kind, bool[] lasts, CalibratedSpin spin, WaitThread waits)
{
    /// <summary>How many calls there are.</summary>
    public int Count => lasts.Length;

    public bool IsAsync => kind == CallKind.Await;

    public void Act(int i)
    {
        if (lasts[i])
        {
            Last(i);
        }
    }

    public int Give(int i)
    {
        Act(i);
        return i;
    }

    public IEnumerable<int> Many(int i)
    {
        Act(i);
        return [i];
    }

    public Task ActAsync(int i) => lasts[i] ? waits.WaitAsync() : Task.CompletedTask;

    public Task<int> GiveAsync(int i) => lasts[i] ? GiveLaterAsync(i) : Task.FromResult(i);

    public Task<IEnumerable<int>> ManyAsync(int i) => lasts[i] ? ManyLaterAsync(i) : Task.FromResult<IEnumerable<int>>([i]);

    private void Last(int i)
    {
        if (kind == CallKind.Spin)
        {
            spin.Run(i);
        }
        else
        {
            PreciseSleep.For(waits.Length);
        }
    }

    private async Task<int> GiveLaterAsync(int i)
    {
        await waits.WaitAsync();
        return i;
    }

    private async Task<IEnumerable<int>> ManyLaterAsync(int i)
    {
        await waits.WaitAsync();
        return [i];
    }
}
