namespace Weir.Http;

/// <summary>What .NET 9 has on contents.</summary>
internal static class HttpContentMembers
{
    public static async Task LoadIntoBufferAsync(this HttpContent content, long maxBufferSize, CancellationToken cancellationToken)
    {
        // What is being read from it breaks off when it is disposed of.
        using (cancellationToken.UnsafeRegister(static content => ((HttpContent)content!).Dispose(), content))
        {
            try
            {
                await content.LoadIntoBufferAsync(maxBufferSize).ConfigureAwait(false);
            }
            catch (Exception) when (cancellationToken.IsCancellationRequested)
            {
                throw new OperationCanceledException(cancellationToken);
            }
        }
    }
}
