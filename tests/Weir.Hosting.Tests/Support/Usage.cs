namespace Weir.Hosting.Tests.Support;

internal sealed class Usage
{
    private readonly List<string?> _ended = [];

    public IReadOnlyList<string?> All
    {
        get
        {
            lock (_ended)
            {
                return [.. _ended];
            }
        }
    }

    public void Ended(string? value)
    {
        lock (_ended)
        {
            _ended.Add(value);
        }
    }
}
