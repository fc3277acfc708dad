export default function Hello() {
  return "hello";
}

// Rendered for each request, as a page that reads a database would be.
export function getServerSideProps() {
  return { props: {} };
}
