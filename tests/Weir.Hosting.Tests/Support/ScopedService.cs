namespace Weir.Hosting.Tests.Support;

/// <summary>A service that one item uses, and that ends with it.</summary>
internal sealed class ScopedService(Usage usage) : IAsyncDisposable
{
    private string? _used;

    public void Use(string value)
    {
        Assert.Null(_used);
        _used = value;
    }

    public ValueTask DisposeAsync()
    {
        usage.Ended(_used);
        return default;
    }
}
