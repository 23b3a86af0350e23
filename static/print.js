// The button of a page that is meant for paper; a kitchen ticket prints as soon as it is there.
const button = document.getElementById('print');
button.hidden = false;
button.addEventListener('click', () => window.print());
if (button.hasAttribute('data-now')) window.print();
