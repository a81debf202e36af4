namespace Weir.Explore.Scheduling;

/// <summary>The awaits that have not gone on, for the message of a deadlock.</summary>
internal sealed class AwaitList
{
    private readonly Dictionary<int, string> _sites = [];
    private int _last;

    public int Add(string site)
    {
        _sites.Add(++_last, site);
        return _last;
    }

    public void Remove(int number) => _sites.Remove(number);

    public IEnumerable<string> Pending() => _sites.OrderBy(static p => p.Key).Select(static p => $"an await has not gone on: {p.Value}");
}
