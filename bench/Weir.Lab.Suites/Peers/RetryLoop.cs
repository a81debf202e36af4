namespace Weir.Lab.Suites.Peers;

/// <summary>Hand-written retries: a loop around the call, with a delay that doubles from 1 ms.</summary>
internal static class RetryLoop
{
    public static ItemCall Around(ItemCall call, int retries) => async (item, token) =>
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                return await call(item, token);
            }
            catch (InvalidOperationException) when (attempt <= retries)
            {
                // Below, outside the handler.
            }

            await Task.Delay(1 << (attempt - 1), token);
        }
    };
}
