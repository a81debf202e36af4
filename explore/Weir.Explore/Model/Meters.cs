namespace Weir.Explore.Model;

internal static class Meters
{
    /// <summary>What is registered in the process, as meters, their listeners and sources of spans are, goes with its schedule.</summary>
    public static T Keep<T>(T made)
        where T : IDisposable
    {
        Order.UseInstruments();
        Statics.DisposeLater(made);
        return made;
    }
}
