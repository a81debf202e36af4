namespace Weir.Explore.Model;

/// <summary>What is disposed of without its type being known.</summary>
[Replaces("System.IDisposable")]
internal static class Disposing
{
    public static void Dispose(IDisposable disposable)
    {
        if (disposable is CancellationTokenSource source)
        {
            Cancellation.Dispose(source);
        }
        else
        {
            disposable.Dispose();
        }
    }
}
